/** Texts of mails in every language of the pages. What is in a heading also is the subject: only fixed words. */

import type { MailLanguage } from './options.ts';

/** What a mail is about. */
export type MailKind =
  | 'invitation'
  | 'reset'
  | 'sign-in-link'
  | 'sign-in'
  | 'connection'
  | 'passkey'
  | 'credentials'
  | 'approval'
  | 'group-approval'
  | 'test';

interface KindTexts {
  readonly heading: string;
  readonly what: string;
  /** Of the link; empty: it has none. */
  readonly action: string;
}

export interface MailTexts {
  readonly kinds: Readonly<Record<MailKind, KindTexts>>;
  readonly facts: Readonly<Record<'time' | 'user' | 'app' | 'network' | 'server' | 'tool' | 'until', string>>;
  /** Below a link. */
  readonly paste: string;
  /** Why the recipient gets the mail. */
  readonly why: string;
  /** Below a link that only its owner may use. */
  readonly unexpected: string;
}

export const mailTexts: Readonly<Record<MailLanguage, MailTexts>> = {
  en: {
    kinds: {
      invitation: {
        heading: 'You are invited',
        what: 'An account was created for you. Choose how you sign in to decide which apps can access your servers.',
        action: 'Set up your account',
      },
      reset: {
        heading: 'Choose a new password',
        what: 'Someone, hopefully you, has forgotten the password of this account. The link works once.',
        action: 'Choose a new password',
      },
      'sign-in-link': {
        heading: 'Sign in',
        what: 'Someone, hopefully you, wants to sign in to this account. The link works once, and only in the browser that requested it.',
        action: 'Sign in',
      },
      'sign-in': {
        heading: 'New sign-in',
        what: 'A browser that was not known before has signed in to your account. If it was you, there is nothing to do.',
        action: 'This was not me',
      },
      connection: {
        heading: 'A new app is connected',
        what: 'An app can now act for your account. If you allowed it, there is nothing to do.',
        action: 'This was not me',
      },
      passkey: {
        heading: 'A passkey was added',
        what: 'A new passkey can sign in to your account. If you added it, there is nothing to do.',
        action: 'This was not me',
      },
      credentials: {
        heading: 'Your way of signing in was changed',
        what: 'The password or second factor of your account was changed. If it was you, there is nothing to do.',
        action: 'This was not me',
      },
      approval: {
        heading: 'A call needs your approval',
        what: 'An app wants to do something on your behalf that you decide about. Open the page to see what it is.',
        action: 'See and decide',
      },
      'group-approval': {
        heading: 'A call needs your approval',
        what: 'An app wants to call a tool for a user, and a group that you are in decides about it. Open the page to see what it is.',
        action: 'See and decide',
      },
      test: {
        heading: 'A test',
        what: 'This server can send mail to this address.',
        action: '',
      },
    },
    facts: {
      time: 'Time',
      user: 'User',
      app: 'App',
      network: 'Network',
      server: 'Server',
      tool: 'Tool',
      until: 'Valid until',
    },
    paste: 'If the button does not work, open this address:',
    why: 'This mail was sent automatically, because it concerns your account.',
    unexpected: 'If you did not expect it, ignore this mail: nothing changes.',
  },
  de: {
    kinds: {
      invitation: {
        heading: 'Sie sind eingeladen',
        what: 'Für Sie wurde ein Konto erstellt. Wählen Sie, wie Sie sich anmelden, um zu entscheiden, welche Apps auf Ihre Server zugreifen dürfen.',
        action: 'Konto einrichten',
      },
      reset: {
        heading: 'Neues Passwort wählen',
        what: 'Jemand, hoffentlich Sie, hat das Passwort dieses Kontos vergessen. Der Link gilt einmal.',
        action: 'Neues Passwort wählen',
      },
      'sign-in-link': {
        heading: 'Anmelden',
        what: 'Jemand, hoffentlich Sie, möchte sich bei diesem Konto anmelden. Der Link gilt einmal und nur in dem Browser, der ihn angefordert hat.',
        action: 'Anmelden',
      },
      'sign-in': {
        heading: 'Neue Anmeldung',
        what: 'Ein bisher unbekannter Browser hat sich bei Ihrem Konto angemeldet. Wenn Sie es waren, müssen Sie nichts tun.',
        action: 'Das war ich nicht',
      },
      connection: {
        heading: 'Eine neue App ist verbunden',
        what: 'Eine App kann jetzt für Ihr Konto handeln. Wenn Sie es erlaubt haben, müssen Sie nichts tun.',
        action: 'Das war ich nicht',
      },
      passkey: {
        heading: 'Ein Passkey wurde hinzugefügt',
        what: 'Ein neuer Passkey kann sich bei Ihrem Konto anmelden. Wenn Sie ihn hinzugefügt haben, müssen Sie nichts tun.',
        action: 'Das war ich nicht',
      },
      credentials: {
        heading: 'Ihre Anmeldung wurde geändert',
        what: 'Passwort oder zweiter Faktor Ihres Kontos wurde geändert. Wenn Sie es waren, müssen Sie nichts tun.',
        action: 'Das war ich nicht',
      },
      approval: {
        heading: 'Ein Aufruf braucht Ihre Zustimmung',
        what: 'Eine App möchte in Ihrem Namen etwas tun, worüber Sie entscheiden. Öffnen Sie die Seite, um es zu sehen.',
        action: 'Ansehen und entscheiden',
      },
      'group-approval': {
        heading: 'Ein Aufruf braucht Ihre Zustimmung',
        what: 'Eine App möchte für einen Benutzer ein Werkzeug aufrufen, und eine Gruppe, in der Sie sind, entscheidet darüber. Öffnen Sie die Seite, um es zu sehen.',
        action: 'Ansehen und entscheiden',
      },
      test: { heading: 'Ein Test', what: 'Dieser Server kann E-Mails an diese Adresse senden.', action: '' },
    },
    facts: {
      time: 'Zeit',
      user: 'Benutzer',
      app: 'App',
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
    kinds: {
      invitation: {
        heading: 'Vous êtes invité',
        what: 'Un compte a été créé pour vous. Choisissez comment vous vous connectez pour décider quelles applications accèdent à vos serveurs.',
        action: 'Configurer le compte',
      },
      reset: {
        heading: 'Choisir un nouveau mot de passe',
        what: 'Le mot de passe de ce compte a été oublié, nous l’espérons par vous. Le lien fonctionne une seule fois.',
        action: 'Choisir un nouveau mot de passe',
      },
      'sign-in-link': {
        heading: 'Se connecter',
        what: 'Une connexion à ce compte a été demandée, nous l’espérons par vous. Le lien fonctionne une seule fois et uniquement dans le navigateur qui l’a demandé.',
        action: 'Se connecter',
      },
      'sign-in': {
        heading: 'Nouvelle connexion',
        what: 'Un navigateur encore inconnu s’est connecté à votre compte. Si c’était vous, vous n’avez rien à faire.',
        action: 'Ce n’était pas moi',
      },
      connection: {
        heading: 'Une nouvelle application est connectée',
        what: 'Une application peut maintenant agir pour votre compte. Si vous l’avez permis, vous n’avez rien à faire.',
        action: 'Ce n’était pas moi',
      },
      passkey: {
        heading: 'Une clé d’accès a été ajoutée',
        what: 'Une nouvelle clé d’accès permet de se connecter à votre compte. Si vous l’avez ajoutée, vous n’avez rien à faire.',
        action: 'Ce n’était pas moi',
      },
      credentials: {
        heading: 'Votre mode de connexion a changé',
        what: 'Le mot de passe ou le second facteur de votre compte a été modifié. Si c’était vous, vous n’avez rien à faire.',
        action: 'Ce n’était pas moi',
      },
      approval: {
        heading: 'Un appel attend votre accord',
        what: 'Une application veut faire en votre nom quelque chose dont vous décidez. Ouvrez la page pour le voir.',
        action: 'Voir et décider',
      },
      'group-approval': {
        heading: 'Un appel attend votre accord',
        what: 'Une application veut appeler un outil pour un utilisateur, et un groupe dont vous faites partie en décide. Ouvrez la page pour le voir.',
        action: 'Voir et décider',
      },
      test: { heading: 'Un essai', what: 'Ce serveur peut envoyer des e-mails à cette adresse.', action: '' },
    },
    facts: {
      time: 'Heure',
      user: 'Utilisateur',
      app: 'Application',
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
    kinds: {
      invitation: {
        heading: 'Tiene una invitación',
        what: 'Se creó una cuenta para usted. Elija cómo inicia sesión para decidir qué aplicaciones acceden a sus servidores.',
        action: 'Configurar la cuenta',
      },
      reset: {
        heading: 'Elija una contraseña nueva',
        what: 'Alguien, esperamos que usted, olvidó la contraseña de esta cuenta. El enlace funciona una sola vez.',
        action: 'Elegir una contraseña nueva',
      },
      'sign-in-link': {
        heading: 'Iniciar sesión',
        what: 'Alguien, esperamos que usted, quiere iniciar sesión en esta cuenta. El enlace funciona una sola vez y solo en el navegador que lo pidió.',
        action: 'Iniciar sesión',
      },
      'sign-in': {
        heading: 'Nuevo inicio de sesión',
        what: 'Un navegador desconocido hasta ahora inició sesión en su cuenta. Si fue usted, no tiene que hacer nada.',
        action: 'No fui yo',
      },
      connection: {
        heading: 'Hay una aplicación nueva conectada',
        what: 'Una aplicación ya puede actuar por su cuenta. Si usted lo permitió, no tiene que hacer nada.',
        action: 'No fui yo',
      },
      passkey: {
        heading: 'Se añadió una llave de acceso',
        what: 'Una llave de acceso nueva puede iniciar sesión en su cuenta. Si la añadió usted, no tiene que hacer nada.',
        action: 'No fui yo',
      },
      credentials: {
        heading: 'Cambió su forma de iniciar sesión',
        what: 'Se cambió la contraseña o el segundo factor de su cuenta. Si fue usted, no tiene que hacer nada.',
        action: 'No fui yo',
      },
      approval: {
        heading: 'Una llamada necesita su aprobación',
        what: 'Una aplicación quiere hacer en su nombre algo que decide usted. Abra la página para verlo.',
        action: 'Ver y decidir',
      },
      'group-approval': {
        heading: 'Una llamada necesita su aprobación',
        what: 'Una aplicación quiere llamar a una herramienta para un usuario, y lo decide un grupo al que usted pertenece. Abra la página para verlo.',
        action: 'Ver y decidir',
      },
      test: {
        heading: 'Una prueba',
        what: 'Este servidor puede enviar correo a esta dirección.',
        action: '',
      },
    },
    facts: {
      time: 'Hora',
      user: 'Usuario',
      app: 'Aplicación',
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
    kinds: {
      invitation: {
        heading: '招待されました',
        what: 'あなたのアカウントが作成されました。ログイン方法を設定すると、サーバーにアクセスできるアプリを決められます。',
        action: 'アカウントを設定する',
      },
      reset: {
        heading: '新しいパスワードの設定',
        what: 'このアカウントのパスワードを忘れたという申請がありました。リンクは1回だけ有効です。',
        action: '新しいパスワードを設定する',
      },
      'sign-in-link': {
        heading: 'ログイン',
        what: 'このアカウントへのログインが申請されました。リンクは1回だけ、申請したブラウザーでのみ有効です。',
        action: 'ログインする',
      },
      'sign-in': {
        heading: '新しいログイン',
        what: 'これまで使われていないブラウザーがあなたのアカウントにログインしました。ご自身の操作であれば、何もする必要はありません。',
        action: '心当たりがない',
      },
      connection: {
        heading: '新しいアプリが接続されました',
        what: 'アプリがあなたのアカウントで操作できるようになりました。ご自身で許可した場合は、何もする必要はありません。',
        action: '心当たりがない',
      },
      passkey: {
        heading: 'パスキーが追加されました',
        what: '新しいパスキーであなたのアカウントにログインできます。ご自身で追加した場合は、何もする必要はありません。',
        action: '心当たりがない',
      },
      credentials: {
        heading: 'ログイン方法が変更されました',
        what: 'あなたのアカウントのパスワードまたは2要素認証が変更されました。ご自身の操作であれば、何もする必要はありません。',
        action: '心当たりがない',
      },
      approval: {
        heading: '承認が必要な呼び出しがあります',
        what: 'アプリが、あなたの判断が必要な操作を行おうとしています。ページを開いて内容を確認してください。',
        action: '確認して決める',
      },
      'group-approval': {
        heading: '承認が必要な呼び出しがあります',
        what: 'アプリがユーザーのためにツールを呼び出そうとしており、あなたが所属するグループの判断が必要です。ページを開いて内容を確認してください。',
        action: '確認して決める',
      },
      test: { heading: 'テスト', what: 'このサーバーはこのアドレスにメールを送信できます。', action: '' },
    },
    facts: {
      time: '日時',
      user: 'ユーザー',
      app: 'アプリ',
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
    kinds: {
      invitation: {
        heading: '您收到了邀请',
        what: '已为您创建帐户。请设置登录方式，然后决定哪些应用可以访问您的服务器。',
        action: '设置您的帐户',
      },
      reset: {
        heading: '设置新密码',
        what: '有人（希望是您本人）忘记了此帐户的密码。该链接只能使用一次。',
        action: '设置新密码',
      },
      'sign-in-link': {
        heading: '登录',
        what: '有人（希望是您本人）想登录此帐户。该链接只能使用一次，且只能在请求它的浏览器中使用。',
        action: '登录',
      },
      'sign-in': {
        heading: '新的登录',
        what: '一个此前未知的浏览器登录了您的帐户。如果是您本人，则无需任何操作。',
        action: '不是我本人',
      },
      connection: {
        heading: '已连接新应用',
        what: '一个应用现在可以代表您的帐户操作。如果是您允许的，则无需任何操作。',
        action: '不是我本人',
      },
      passkey: {
        heading: '已添加通行密钥',
        what: '一个新的通行密钥可以登录您的帐户。如果是您添加的，则无需任何操作。',
        action: '不是我本人',
      },
      credentials: {
        heading: '您的登录方式已更改',
        what: '您帐户的密码或第二重验证已更改。如果是您本人，则无需任何操作。',
        action: '不是我本人',
      },
      approval: {
        heading: '有一个调用需要您批准',
        what: '某个应用想代表您执行需要您决定的操作。请打开页面查看。',
        action: '查看并决定',
      },
      'group-approval': {
        heading: '有一个调用需要您批准',
        what: '某个应用想为一位用户调用工具，需要由您所在的组决定。请打开页面查看。',
        action: '查看并决定',
      },
      test: { heading: '测试', what: '此服务器可以向此地址发送邮件。', action: '' },
    },
    facts: {
      time: '时间',
      user: '用户',
      app: '应用',
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
