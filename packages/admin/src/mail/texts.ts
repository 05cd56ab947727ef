/** Texts of mails in every language of the pages. */
import type { MailLanguage } from './options.ts';

const en = {
  /** Of a mail, by what it is about; also its subject: only fixed words. */
  heading: {
    invitation: 'You are invited',
    reset: 'Choose a new password',
    'sign-in-link': 'Sign in',
    'sign-in': 'New sign-in',
    connection: 'A new app is connected',
    passkey: 'A passkey was added',
    credentials: 'Your way of signing in was changed',
    approval: 'A call needs your approval',
    'group-approval': 'A call needs your approval',
    test: 'A test',
  },
  what: {
    invitation:
      'An account was created for you. Choose how you sign in to decide which apps can access your servers.',
    reset: 'Someone, hopefully you, has forgotten the password of this account. The link works once.',
    'sign-in-link':
      'Someone, hopefully you, wants to sign in to this account. The link works once, and only in the browser that requested it.',
    'sign-in':
      'A browser that was not known before has signed in to your account. If it was you, there is nothing to do.',
    connection: 'An app can now act for your account. If you allowed it, there is nothing to do.',
    passkey: 'A new passkey can sign in to your account. If you added it, there is nothing to do.',
    credentials:
      'The password or second factor of your account was changed. If it was you, there is nothing to do.',
    approval:
      'An app wants to do something on your behalf that you decide about. Open the page to see what it is.',
    'group-approval':
      'An app wants to call a tool for a user, and a group that you are in decides about it. Open the page to see what it is.',
    test: 'This server can send mail to this address.',
  },
  /** Of links. */
  actions: {
    setUp: 'Set up your account',
    choosePassword: 'Choose a new password',
    signIn: 'Sign in',
    notMe: 'This was not me',
    decide: 'See and decide',
  },
  facts: {
    time: 'Time',
    user: 'User',
    app: 'App',
    browser: 'Browser',
    network: 'Network',
    server: 'Server',
    tool: 'Tool',
    until: 'Valid until',
  },
  /** Below a link. */
  paste: 'If the button does not work, open this address:',
  /** Why the recipient gets the mail. */
  why: 'This mail was sent automatically, because it concerns your account.',
  /** Below a link that only its owner may use. */
  unexpected: 'If you did not expect it, ignore this mail: nothing changes.',
};

export type MailTexts = typeof en;

/** What a mail is about. */
export type MailKind = keyof MailTexts['heading'];

/** What the link of a mail does; `null`: it has none. */
export const mailActions: Readonly<Record<MailKind, keyof MailTexts['actions'] | null>> = {
  invitation: 'setUp',
  reset: 'choosePassword',
  'sign-in-link': 'signIn',
  'sign-in': 'notMe',
  connection: 'notMe',
  passkey: 'notMe',
  credentials: 'notMe',
  approval: 'decide',
  'group-approval': 'decide',
  test: null,
};

export const mailTexts: Readonly<Record<MailLanguage, MailTexts>> = {
  en,
  de: {
    heading: {
      invitation: 'Sie sind eingeladen',
      reset: 'Neues Passwort wählen',
      'sign-in-link': 'Anmelden',
      'sign-in': 'Neue Anmeldung',
      connection: 'Eine neue App ist verbunden',
      passkey: 'Ein Passkey wurde hinzugefügt',
      credentials: 'Ihre Anmeldung wurde geändert',
      approval: 'Ein Aufruf braucht Ihre Zustimmung',
      'group-approval': 'Ein Aufruf braucht Ihre Zustimmung',
      test: 'Ein Test',
    },
    what: {
      invitation:
        'Für Sie wurde ein Konto erstellt. Wählen Sie, wie Sie sich anmelden, um zu entscheiden, welche Apps auf Ihre Server zugreifen dürfen.',
      reset: 'Jemand, hoffentlich Sie, hat das Passwort dieses Kontos vergessen. Der Link gilt einmal.',
      'sign-in-link':
        'Jemand, hoffentlich Sie, möchte sich bei diesem Konto anmelden. Der Link gilt einmal und nur in dem Browser, der ihn angefordert hat.',
      'sign-in':
        'Ein bisher unbekannter Browser hat sich bei Ihrem Konto angemeldet. Wenn Sie es waren, müssen Sie nichts tun.',
      connection:
        'Eine App kann jetzt für Ihr Konto handeln. Wenn Sie es erlaubt haben, müssen Sie nichts tun.',
      passkey:
        'Ein neuer Passkey kann sich bei Ihrem Konto anmelden. Wenn Sie ihn hinzugefügt haben, müssen Sie nichts tun.',
      credentials:
        'Passwort oder zweiter Faktor Ihres Kontos wurde geändert. Wenn Sie es waren, müssen Sie nichts tun.',
      approval:
        'Eine App möchte in Ihrem Namen etwas tun, worüber Sie entscheiden. Öffnen Sie die Seite, um es zu sehen.',
      'group-approval':
        'Eine App möchte für einen Benutzer ein Werkzeug aufrufen, und eine Gruppe, in der Sie sind, entscheidet darüber. Öffnen Sie die Seite, um es zu sehen.',
      test: 'Dieser Server kann E-Mails an diese Adresse senden.',
    },
    actions: {
      setUp: 'Konto einrichten',
      choosePassword: 'Neues Passwort wählen',
      signIn: 'Anmelden',
      notMe: 'Das war ich nicht',
      decide: 'Ansehen und entscheiden',
    },
    facts: {
      time: 'Zeit',
      user: 'Benutzer',
      app: 'App',
      browser: 'Browser',
      network: 'Netz',
      server: 'Server',
      tool: 'Werkzeug',
      until: 'Gültig bis',
    },
    paste: 'Wenn die Schaltfläche nicht funktioniert, öffnen Sie diese Adresse:',
    why: 'Diese E-Mail wurde automatisch gesendet, weil sie Ihr Konto betrifft.',
    unexpected: 'Wenn Sie sie nicht erwartet haben, ignorieren Sie diese E-Mail: Nichts ändert sich.',
  },
  fr: {
    heading: {
      invitation: 'Vous êtes invité',
      reset: 'Choisir un nouveau mot de passe',
      'sign-in-link': 'Se connecter',
      'sign-in': 'Nouvelle connexion',
      connection: 'Une nouvelle application est connectée',
      passkey: 'Une clé d’accès a été ajoutée',
      credentials: 'Votre mode de connexion a changé',
      approval: 'Un appel attend votre accord',
      'group-approval': 'Un appel attend votre accord',
      test: 'Un essai',
    },
    what: {
      invitation:
        'Un compte a été créé pour vous. Choisissez comment vous vous connectez pour décider quelles applications accèdent à vos serveurs.',
      reset:
        'Le mot de passe de ce compte a été oublié, nous l’espérons par vous. Le lien fonctionne une seule fois.',
      'sign-in-link':
        'Une connexion à ce compte a été demandée, nous l’espérons par vous. Le lien fonctionne une seule fois et uniquement dans le navigateur qui l’a demandé.',
      'sign-in':
        'Un navigateur encore inconnu s’est connecté à votre compte. Si c’était vous, vous n’avez rien à faire.',
      connection:
        'Une application peut maintenant agir pour votre compte. Si vous l’avez permis, vous n’avez rien à faire.',
      passkey:
        'Une nouvelle clé d’accès permet de se connecter à votre compte. Si vous l’avez ajoutée, vous n’avez rien à faire.',
      credentials:
        'Le mot de passe ou le second facteur de votre compte a été modifié. Si c’était vous, vous n’avez rien à faire.',
      approval:
        'Une application veut faire en votre nom quelque chose dont vous décidez. Ouvrez la page pour le voir.',
      'group-approval':
        'Une application veut appeler un outil pour un utilisateur, et un groupe dont vous faites partie en décide. Ouvrez la page pour le voir.',
      test: 'Ce serveur peut envoyer des e-mails à cette adresse.',
    },
    actions: {
      setUp: 'Configurer le compte',
      choosePassword: 'Choisir un nouveau mot de passe',
      signIn: 'Se connecter',
      notMe: 'Ce n’était pas moi',
      decide: 'Voir et décider',
    },
    facts: {
      time: 'Heure',
      user: 'Utilisateur',
      app: 'Application',
      browser: 'Navigateur',
      network: 'Réseau',
      server: 'Serveur',
      tool: 'Outil',
      until: 'Valable jusqu’au',
    },
    paste: 'Si le bouton ne fonctionne pas, ouvrez cette adresse :',
    why: 'Cet e-mail a été envoyé automatiquement, car il concerne votre compte.',
    unexpected: 'Si vous ne l’attendiez pas, ignorez cet e-mail : rien ne change.',
  },
  es: {
    heading: {
      invitation: 'Tiene una invitación',
      reset: 'Elija una contraseña nueva',
      'sign-in-link': 'Iniciar sesión',
      'sign-in': 'Nuevo inicio de sesión',
      connection: 'Hay una aplicación nueva conectada',
      passkey: 'Se añadió una llave de acceso',
      credentials: 'Cambió su forma de iniciar sesión',
      approval: 'Una llamada necesita su aprobación',
      'group-approval': 'Una llamada necesita su aprobación',
      test: 'Una prueba',
    },
    what: {
      invitation:
        'Se creó una cuenta para usted. Elija cómo inicia sesión para decidir qué aplicaciones acceden a sus servidores.',
      reset:
        'Alguien, esperamos que usted, olvidó la contraseña de esta cuenta. El enlace funciona una sola vez.',
      'sign-in-link':
        'Alguien, esperamos que usted, quiere iniciar sesión en esta cuenta. El enlace funciona una sola vez y solo en el navegador que lo pidió.',
      'sign-in':
        'Un navegador desconocido hasta ahora inició sesión en su cuenta. Si fue usted, no tiene que hacer nada.',
      connection:
        'Una aplicación ya puede actuar por su cuenta. Si usted lo permitió, no tiene que hacer nada.',
      passkey:
        'Una llave de acceso nueva puede iniciar sesión en su cuenta. Si la añadió usted, no tiene que hacer nada.',
      credentials:
        'Se cambió la contraseña o el segundo factor de su cuenta. Si fue usted, no tiene que hacer nada.',
      approval: 'Una aplicación quiere hacer en su nombre algo que decide usted. Abra la página para verlo.',
      'group-approval':
        'Una aplicación quiere llamar a una herramienta para un usuario, y lo decide un grupo al que usted pertenece. Abra la página para verlo.',
      test: 'Este servidor puede enviar correo a esta dirección.',
    },
    actions: {
      setUp: 'Configurar la cuenta',
      choosePassword: 'Elegir una contraseña nueva',
      signIn: 'Iniciar sesión',
      notMe: 'No fui yo',
      decide: 'Ver y decidir',
    },
    facts: {
      time: 'Hora',
      user: 'Usuario',
      app: 'Aplicación',
      browser: 'Navegador',
      network: 'Red',
      server: 'Servidor',
      tool: 'Herramienta',
      until: 'Válido hasta',
    },
    paste: 'Si el botón no funciona, abra esta dirección:',
    why: 'Este correo se envió automáticamente porque afecta a su cuenta.',
    unexpected: 'Si no lo esperaba, ignore este correo: nada cambia.',
  },
  ja: {
    heading: {
      invitation: '招待されました',
      reset: '新しいパスワードの設定',
      'sign-in-link': 'ログイン',
      'sign-in': '新しいログイン',
      connection: '新しいアプリが接続されました',
      passkey: 'パスキーが追加されました',
      credentials: 'ログイン方法が変更されました',
      approval: '承認が必要な呼び出しがあります',
      'group-approval': '承認が必要な呼び出しがあります',
      test: 'テスト',
    },
    what: {
      invitation:
        'あなたのアカウントが作成されました。ログイン方法を設定すると、サーバーにアクセスできるアプリを決められます。',
      reset: 'このアカウントのパスワードを忘れたという申請がありました。リンクは1回だけ有効です。',
      'sign-in-link':
        'このアカウントへのログインが申請されました。リンクは1回だけ、申請したブラウザーでのみ有効です。',
      'sign-in':
        'これまで使われていないブラウザーがあなたのアカウントにログインしました。ご自身の操作であれば、何もする必要はありません。',
      connection:
        'アプリがあなたのアカウントで操作できるようになりました。ご自身で許可した場合は、何もする必要はありません。',
      passkey:
        '新しいパスキーであなたのアカウントにログインできます。ご自身で追加した場合は、何もする必要はありません。',
      credentials:
        'あなたのアカウントのパスワードまたは2要素認証が変更されました。ご自身の操作であれば、何もする必要はありません。',
      approval:
        'アプリが、あなたの判断が必要な操作を行おうとしています。ページを開いて内容を確認してください。',
      'group-approval':
        'アプリがユーザーのためにツールを呼び出そうとしており、あなたが所属するグループの判断が必要です。ページを開いて内容を確認してください。',
      test: 'このサーバーはこのアドレスにメールを送信できます。',
    },
    actions: {
      setUp: 'アカウントを設定する',
      choosePassword: '新しいパスワードを設定する',
      signIn: 'ログインする',
      notMe: '心当たりがない',
      decide: '確認して決める',
    },
    facts: {
      time: '日時',
      user: 'ユーザー',
      app: 'アプリ',
      browser: 'ブラウザー',
      network: 'ネットワーク',
      server: 'サーバー',
      tool: 'ツール',
      until: '有効期限',
    },
    paste: 'ボタンが機能しない場合は、次のアドレスを開いてください。',
    why: 'このメールは、あなたのアカウントに関するため自動的に送信されました。',
    unexpected: '心当たりがない場合は、このメールを無視してください。何も変更されません。',
  },
  zh: {
    heading: {
      invitation: '您收到了邀请',
      reset: '设置新密码',
      'sign-in-link': '登录',
      'sign-in': '新的登录',
      connection: '已连接新应用',
      passkey: '已添加通行密钥',
      credentials: '您的登录方式已更改',
      approval: '有一个调用需要您批准',
      'group-approval': '有一个调用需要您批准',
      test: '测试',
    },
    what: {
      invitation: '已为您创建帐户。请设置登录方式，然后决定哪些应用可以访问您的服务器。',
      reset: '有人（希望是您本人）忘记了此帐户的密码。该链接只能使用一次。',
      'sign-in-link': '有人（希望是您本人）想登录此帐户。该链接只能使用一次，且只能在请求它的浏览器中使用。',
      'sign-in': '一个此前未知的浏览器登录了您的帐户。如果是您本人，则无需任何操作。',
      connection: '一个应用现在可以代表您的帐户操作。如果是您允许的，则无需任何操作。',
      passkey: '一个新的通行密钥可以登录您的帐户。如果是您添加的，则无需任何操作。',
      credentials: '您帐户的密码或第二重验证已更改。如果是您本人，则无需任何操作。',
      approval: '某个应用想代表您执行需要您决定的操作。请打开页面查看。',
      'group-approval': '某个应用想为一位用户调用工具，需要由您所在的组决定。请打开页面查看。',
      test: '此服务器可以向此地址发送邮件。',
    },
    actions: {
      setUp: '设置您的帐户',
      choosePassword: '设置新密码',
      signIn: '登录',
      notMe: '不是我本人',
      decide: '查看并决定',
    },
    facts: {
      time: '时间',
      user: '用户',
      app: '应用',
      browser: '浏览器',
      network: '网络',
      server: '服务器',
      tool: '工具',
      until: '有效期至',
    },
    paste: '如果按钮无法使用，请打开此地址：',
    why: '此邮件因涉及您的帐户而自动发送。',
    unexpected: '如果您没有预料到，请忽略此邮件：不会有任何更改。',
  },
};
