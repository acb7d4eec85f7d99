import { en, type Texts } from './en.ts'

/** French. */
export const fr: Texts = {
  language: 'fr',
  languageName: 'Français',
  languages: 'Langue',
  direction: 'ltr',

  testMode: 'Mode test : aucun argent réel ne circule ici.',
  poweredBy: 'Les paiements vont directement dans le portefeuille du vendeur.',
  usd: en.usd,
  each: {
    DAY: (count) => (count === 1 ? 'chaque jour' : `tous les ${count} jours`),
    WEEK: (count) => (count === 1 ? 'chaque semaine' : `toutes les ${count} semaines`),
    MONTH: (count) => (count === 1 ? 'chaque mois' : `tous les ${count} mois`),
    YEAR: (count) => (count === 1 ? 'chaque année' : `tous les ${count} ans`),
  },
  backToSeller: (seller) => `Retour chez ${seller}`,

  home: {
    title: 'Paiements en stablecoins',
    lead: 'Ce serveur reçoit des paiements en USDC et USDT pour des vendeurs en ligne, directement dans leurs propres portefeuilles.',
    buyers: 'Vous venez payer ? Ouvrez le lien que le vendeur vous a donné.',
    sellers: 'Vous vendez quelque chose ? La référence de l’API dit comment commencer.',
    docs: 'Lire la référence de l’API',
  },

  buy: {
    title: (seller) => `Payer ${seller}`,
    due: 'À payer',
    choose: 'Payer avec',
    network: (token, network) => `${token} sur ${network}`,
    chooseHint: 'Choisissez le réseau depuis lequel votre portefeuille ou plateforme envoie.',
    speed: (seconds) =>
      seconds < 90
        ? `confirmé en ${seconds} s environ`
        : `confirmé en ${Math.round(seconds / 60)} min environ`,
    email: 'Votre adresse e-mail',
    emailHint: 'Nous écrivons avant chaque échéance. Rien n’est jamais prélevé tout seul.',
    emailWrong: 'Écrivez une adresse e-mail, comme ann@mail.example.',
    optionWrong: 'Choisissez avec quoi payer.',
    go: 'Continuer vers le paiement',
    goHint: 'Vous verrez ensuite l’adresse et le montant exact.',
    noOptions: 'Le vendeur ne peut pas recevoir ce paiement pour le moment.',
    resume: 'Vous avez déjà commencé à payer.',
    resumeLink: 'Continuer ce paiement',
  },

  pay: {
    status: {
      PENDING: 'En attente de votre paiement',
      DETECTED: 'Paiement vu',
      CONFIRMED: 'Paiement confirmé',
      UNDERPAID: 'Le montant payé est trop faible',
      OVERPAID: 'Payé, avec plus que le montant dû',
      EXPIRED: 'Ce paiement a expiré',
      CANCELED: 'Ce paiement a été annulé',
      WINDOW_OVER: 'Le temps pour payer est écoulé',
    },
    say: {
      DETECTED: (network) =>
        `Votre transfert est en route. Il compte dès que ${network} l’a confirmé ; vous pouvez fermer cette page.`,
      CONFIRMED: (seller) => `Merci. ${seller} a été prévenu.`,
      UNDERPAID: (received, due, seller) =>
        `${received} sur ${due} sont arrivés. Demandez à ${seller} que faire, avec le numéro de paiement ci-dessous.`,
      OVERPAID: (received, due, seller) =>
        `${received} sont arrivés alors que ${due} étaient dus. ${seller} a été prévenu ; demandez-lui la différence.`,
      EXPIRED: (seller) =>
        `N’envoyez plus rien à cette adresse. Si vous avez payé, demandez à ${seller}, avec le numéro de paiement ci-dessous.`,
      CANCELED: (seller) =>
        `N’envoyez plus rien à cette adresse. Si vous avez payé, demandez à ${seller}, avec le numéro de paiement ci-dessous.`,
      WINDOW_OVER:
        'N’envoyez plus rien. Si vous avez payé à temps, cela s’affichera ici dans un instant.',
    },
    steps: { name: 'Progression', PENDING: 'En attente', DETECTED: 'Vu', CONFIRMED: 'Confirmé' },
    confirmations: (count, required) => `${count} confirmations sur ${required}`,
    timeLeft: 'Temps restant',
    minutesLeft: (minutes) => `${minutes} min`,
    send: 'Envoyez exactement',
    exactHint: 'Jusqu’au dernier chiffre : c’est ainsi que votre paiement se distingue des autres.',
    feeHint:
      'Les frais d’une plateforme ou d’un portefeuille s’ajoutent : ce montant doit arriver.',
    to: 'À cette adresse',
    only: (token, network) => `Envoyez seulement ${token} sur ${network}.`,
    onlyHint: 'Un autre jeton ou un autre réseau peut être perdu.',
    onlyTest: (network) =>
      `Utilisez un réseau de test de ${network} ; de l’argent réel envoyé ici peut être perdu.`,
    qr: 'Code QR',
    qrAddress: 'Adresse',
    qrAddressHint:
      'Pour tout portefeuille : contient seulement l’adresse. Saisissez le montant vous-même.',
    qrAddressLabel: (address) => `Code QR de l’adresse ${address}`,
    qrUri: 'Lien de paiement',
    qrUriHint:
      'Remplit le jeton et le montant si le portefeuille le comprend. Vérifiez les deux avant d’envoyer.',
    qrUriLabel: 'Code QR d’un lien de paiement avec adresse, jeton et montant',
    openWallet: 'Ouvrir dans un portefeuille',
    copyAmount: 'Copier le montant',
    copyAddress: 'Copier l’adresse',
    copy: 'Copier',
    copied: 'Copié',
    selected: 'Sélectionné : copiez maintenant',
    number: 'Numéro de paiement',
    network: 'Réseau',
    transaction: 'Transaction',
    explorer: 'La voir dans l’explorateur',
    otherWay: 'Payer autrement',
    again: 'Réessayer',
    cancel: 'Annuler ce paiement',
    cancelSure: 'Seulement si vous n’avez encore rien envoyé.',
    cancelGo: 'Oui, annuler',
    continue: (seller) => `Continuer chez ${seller}`,
    offline: 'Pas de connexion. Nouvel essai…',
    simulate: 'Simuler le paiement',
  },

  renew: {
    title: (seller) => `Votre abonnement chez ${seller}`,
    pending: 'Il commence avec le premier paiement.',
    active: (date) => `Le prochain paiement est dû le ${date}. Vous pouvez payer plus tôt.`,
    pastDue: (date) =>
      `Le paiement dû le ${date} manque. Payez maintenant et l’abonnement continue.`,
    expired: (seller) =>
      `Il s’est terminé sans paiement. Pour l’avoir de nouveau, abonnez-vous chez ${seller}.`,
    canceled: (seller) =>
      `Il a été résilié. Plus rien n’est dû. Pour l’avoir de nouveau, abonnez-vous chez ${seller}.`,
    go: 'Payer la prochaine période',
    goFirst: 'Payer la première période',
    cancel: 'Résilier l’abonnement',
    cancelSure: 'Il se termine aussitôt, et personne ne vous écrira plus à ce sujet.',
    cancelGo: 'Oui, résilier',
  },

  verify: {
    title: 'Vérifiez votre adresse e-mail',
    lead: 'Appuyez sur le bouton, et vos clés live pourront recevoir des paiements.',
    go: 'Vérifier mon adresse',
    doneTitle: 'Votre adresse est vérifiée',
    done: 'Vos clés live peuvent maintenant recevoir des paiements. Vous pouvez fermer cette page.',
  },

  reset: {
    title: 'Définir un nouveau mot de passe',
    lead: 'Toutes les sessions du compte se terminent avec lui.',
    password: 'Nouveau mot de passe',
    passwordHint: '12 caractères ou plus.',
    repeat: 'Le même encore une fois',
    go: 'Définir le mot de passe',
    weak: 'Utilisez 12 caractères ou plus, et au plus 1 024 octets.',
    different: 'Les deux ne sont pas identiques. Écrivez-les de nouveau.',
    doneTitle: 'Le mot de passe est défini',
    done: 'Les sessions précédentes sont terminées. Connectez-vous avec le nouveau mot de passe.',
  },

  link: {
    title: 'Ce lien ne fonctionne plus',
    say: 'Il a déjà servi ou a expiré. Écrivez votre adresse et un nouveau vous sera envoyé.',
    go: 'M’envoyer un nouveau lien',
    doneTitle: 'Regardez votre boîte aux lettres',
    done: 'Si un compte à cette adresse a besoin d’un lien, il est en route. Utilisez celui de l’e-mail le plus récent.',
  },

  problem: {
    not_found: {
      title: 'Il n’y a rien ici',
      say: 'Vérifiez le lien, ou demandez à qui vous l’a donné.',
    },
    closed: {
      title: 'Cet achat est terminé',
      say: 'Il a été fermé ou a expiré. Recommencez chez le vendeur.',
    },
    inactive: { title: 'Ceci n’est plus vendu', say: 'Le vendeur a retiré ce lien.' },
    seller: {
      title: 'Le vendeur ne peut pas recevoir de paiements pour le moment',
      say: 'Rien n’a été débité. Demandez au vendeur.',
    },
    busy: {
      title: 'Trop de paiements en ce moment',
      say: 'Rien n’a été débité. Attendez une minute et réessayez.',
    },
    option: {
      title: 'On ne peut pas payer ainsi ici',
      say: 'Revenez en arrière et choisissez un autre réseau.',
    },
    unavailable: {
      title: 'Nous revenons tout de suite',
      say: 'Le service est momentanément inaccessible. Un paiement envoyé est en sécurité : il sera retrouvé. Réessayez dans un instant.',
    },
    request: { title: 'Cela n’a pas fonctionné', say: 'Revenez en arrière et réessayez.' },
    internal: {
      title: 'Quelque chose a échoué de notre côté',
      say: 'Réessayez. Si cela persiste, donnez ce numéro au vendeur :',
    },
    retry: 'Réessayer',
  },
}
