import { en, type Texts } from './en.ts'

/** German. */
export const de: Texts = {
  language: 'de',
  languageName: 'Deutsch',
  languages: 'Sprache',
  direction: 'ltr',

  testMode: 'Testmodus: Hier wird kein echtes Geld bewegt.',
  poweredBy: 'Zahlungen gehen direkt an die eigene Wallet des Verkäufers.',
  usd: en.usd,
  each: {
    DAY: (count) => (count === 1 ? 'jeden Tag' : `alle ${count} Tage`),
    WEEK: (count) => (count === 1 ? 'jede Woche' : `alle ${count} Wochen`),
    MONTH: (count) => (count === 1 ? 'jeden Monat' : `alle ${count} Monate`),
    YEAR: (count) => (count === 1 ? 'jedes Jahr' : `alle ${count} Jahre`),
  },
  backToSeller: (seller) => `Zurück zu ${seller}`,

  home: {
    title: 'Stablecoin-Zahlungen',
    lead: 'Dieser Server nimmt USDC- und USDT-Zahlungen für Online-Verkäufer an, direkt in deren eigene Wallets.',
    buyers: 'Sie möchten bezahlen? Öffnen Sie den Link, den Sie vom Verkäufer bekommen haben.',
    sellers: 'Sie verkaufen etwas? Die API-Referenz sagt, wie es losgeht.',
    docs: 'API-Referenz lesen',
  },

  buy: {
    title: (seller) => `${seller} bezahlen`,
    due: 'Zu zahlen',
    choose: 'Bezahlen mit',
    network: (token, network) => `${token} auf ${network}`,
    chooseHint: 'Wählen Sie das Netzwerk, von dem Ihre Wallet oder Börse sendet.',
    speed: (seconds) =>
      seconds < 90
        ? `bestätigt in etwa ${seconds} s`
        : `bestätigt in etwa ${Math.round(seconds / 60)} min`,
    email: 'Ihre E-Mail-Adresse',
    emailHint: 'Wir schreiben, bevor eine Zahlung fällig wird. Nichts wird von selbst abgebucht.',
    emailWrong: 'Geben Sie eine E-Mail-Adresse an, zum Beispiel ann@mail.example.',
    optionWrong: 'Wählen Sie, womit Sie bezahlen.',
    go: 'Weiter zur Zahlung',
    goHint: 'Als Nächstes sehen Sie die Adresse und den genauen Betrag.',
    noOptions: 'Der Verkäufer kann diese Zahlung im Moment nicht annehmen.',
    resume: 'Sie haben schon angefangen zu bezahlen.',
    resumeLink: 'Mit dieser Zahlung fortfahren',
  },

  pay: {
    status: {
      PENDING: 'Wir warten auf Ihre Zahlung',
      DETECTED: 'Zahlung gesehen',
      CONFIRMED: 'Zahlung bestätigt',
      UNDERPAID: 'Es wurde zu wenig gezahlt',
      OVERPAID: 'Bezahlt, mit mehr als fällig war',
      EXPIRED: 'Diese Zahlung ist abgelaufen',
      CANCELED: 'Diese Zahlung wurde abgebrochen',
      WINDOW_OVER: 'Die Zeit zum Bezahlen ist vorbei',
    },
    say: {
      DETECTED: (network) =>
        `Ihre Überweisung ist unterwegs. Sie zählt, sobald ${network} sie bestätigt hat; diese Seite dürfen Sie schließen.`,
      CONFIRMED: (seller) => `Danke. ${seller} weiß Bescheid.`,
      UNDERPAID: (received, due, seller) =>
        `${received} von ${due} sind angekommen. Fragen Sie ${seller}, was zu tun ist, mit der Zahlungsnummer unten.`,
      OVERPAID: (received, due, seller) =>
        `${received} sind angekommen, ${due} waren fällig. ${seller} weiß Bescheid; fragen Sie dort nach dem Rest.`,
      EXPIRED: (seller) =>
        `Senden Sie nichts mehr an die Adresse. Falls Sie bezahlt haben, fragen Sie ${seller}, mit der Zahlungsnummer unten.`,
      CANCELED: (seller) =>
        `Senden Sie nichts mehr an die Adresse. Falls Sie bezahlt haben, fragen Sie ${seller}, mit der Zahlungsnummer unten.`,
      WINDOW_OVER:
        'Bitte senden Sie nichts mehr. Wenn Sie rechtzeitig bezahlt haben, erscheint es hier gleich.',
    },
    steps: { name: 'Fortschritt', PENDING: 'Warten', DETECTED: 'Gesehen', CONFIRMED: 'Bestätigt' },
    confirmations: (count, required) => `${count} von ${required} Bestätigungen`,
    timeLeft: 'Verbleibende Zeit',
    minutesLeft: (minutes) => `${minutes} min`,
    send: 'Genau senden',
    exactHint: 'Bis zur letzten Stelle: Daran wird Ihre Zahlung erkannt.',
    feeHint: 'Gebühren einer Börse oder Wallet kommen hinzu: So viel muss ankommen.',
    to: 'An diese Adresse',
    only: (token, network) => `Senden Sie nur ${token} auf ${network}.`,
    onlyHint: 'Ein anderer Token oder ein anderes Netzwerk kann verloren gehen.',
    onlyTest: (network) =>
      `Nutzen Sie ein Testnetz von ${network}; echtes Geld kann hier verloren gehen.`,
    qr: 'QR-Code',
    qrAddress: 'Adresse',
    qrAddressHint: 'Für jede Wallet: enthält nur die Adresse. Den Betrag tragen Sie selbst ein.',
    qrAddressLabel: (address) => `QR-Code der Adresse ${address}`,
    qrUri: 'Zahlungslink',
    qrUriHint:
      'Füllt Token und Betrag aus, wo eine Wallet das versteht. Prüfen Sie beides, bevor Sie senden.',
    qrUriLabel: 'QR-Code eines Zahlungslinks mit Adresse, Token und Betrag',
    openWallet: 'In einer Wallet öffnen',
    copyAmount: 'Betrag kopieren',
    copyAddress: 'Adresse kopieren',
    copy: 'Kopieren',
    copied: 'Kopiert',
    selected: 'Markiert: jetzt kopieren',
    number: 'Zahlungsnummer',
    network: 'Netzwerk',
    transaction: 'Transaktion',
    explorer: 'Im Explorer ansehen',
    otherWay: 'Anders bezahlen',
    again: 'Noch einmal versuchen',
    cancel: 'Diese Zahlung abbrechen',
    cancelSure: 'Nur wenn Sie noch nichts gesendet haben.',
    cancelGo: 'Ja, abbrechen',
    continue: (seller) => `Weiter zu ${seller}`,
    offline: 'Keine Verbindung. Neuer Versuch …',
    simulate: 'Zahlung simulieren',
  },

  renew: {
    title: (seller) => `Ihr Abonnement bei ${seller}`,
    pending: 'Es beginnt mit der ersten Zahlung.',
    active: (date) => `Die nächste Zahlung ist am ${date} fällig. Sie dürfen früher bezahlen.`,
    pastDue: (date) =>
      `Die am ${date} fällige Zahlung fehlt. Bezahlen Sie jetzt, und das Abonnement läuft weiter.`,
    expired: (seller) =>
      `Es ist unbezahlt abgelaufen. Um es wieder zu haben, abonnieren Sie neu bei ${seller}.`,
    canceled: (seller) =>
      `Es wurde gekündigt. Nichts ist mehr fällig. Um es wieder zu haben, abonnieren Sie neu bei ${seller}.`,
    go: 'Den nächsten Zeitraum bezahlen',
    goFirst: 'Den ersten Zeitraum bezahlen',
    cancel: 'Abonnement kündigen',
    cancelSure: 'Es endet sofort, und niemand schreibt Ihnen mehr deswegen.',
    cancelGo: 'Ja, kündigen',
  },

  verify: {
    title: 'E-Mail-Adresse bestätigen',
    lead: 'Drücken Sie den Knopf, und Ihre Live-Schlüssel können Zahlungen annehmen.',
    go: 'Meine Adresse bestätigen',
    doneTitle: 'Ihre Adresse ist bestätigt',
    done: 'Ihre Live-Schlüssel können jetzt Zahlungen annehmen. Diese Seite dürfen Sie schließen.',
  },

  reset: {
    title: 'Neues Passwort setzen',
    lead: 'Damit endet jede Anmeldung des Kontos.',
    password: 'Neues Passwort',
    passwordHint: '12 Zeichen oder mehr.',
    repeat: 'Noch einmal dasselbe',
    go: 'Passwort setzen',
    weak: 'Nehmen Sie 12 Zeichen oder mehr, und höchstens 1.024 Bytes.',
    different: 'Die beiden sind nicht gleich. Schreiben Sie sie noch einmal.',
    doneTitle: 'Das Passwort ist gesetzt',
    done: 'Jede frühere Anmeldung ist beendet. Melden Sie sich mit dem neuen Passwort an.',
  },

  link: {
    title: 'Dieser Link gilt nicht mehr',
    say: 'Er wurde schon benutzt oder ist abgelaufen. Geben Sie Ihre Adresse an, und Sie bekommen einen neuen.',
    go: 'Neuen Link schicken',
    doneTitle: 'Sehen Sie in Ihr Postfach',
    done: 'Wenn ein Konto mit dieser Adresse einen Link braucht, ist er unterwegs. Nehmen Sie den aus der neuesten Mail.',
  },

  problem: {
    not_found: {
      title: 'Hier ist nichts',
      say: 'Prüfen Sie den Link, oder fragen Sie, von wem Sie ihn haben.',
    },
    closed: {
      title: 'Dieser Kauf ist vorbei',
      say: 'Er wurde geschlossen oder ist abgelaufen. Beginnen Sie beim Verkäufer von Neuem.',
    },
    inactive: {
      title: 'Das wird nicht mehr verkauft',
      say: 'Der Verkäufer hat diesen Link abgeschaltet.',
    },
    seller: {
      title: 'Der Verkäufer kann gerade keine Zahlungen annehmen',
      say: 'Es wurde nichts berechnet. Fragen Sie den Verkäufer.',
    },
    busy: {
      title: 'Zu viele Zahlungen in diesem Moment',
      say: 'Es wurde nichts berechnet. Warten Sie eine Minute und versuchen Sie es noch einmal.',
    },
    option: {
      title: 'Damit kann hier nicht bezahlt werden',
      say: 'Gehen Sie zurück und wählen Sie ein anderes Netzwerk.',
    },
    unavailable: {
      title: 'Wir sind gleich wieder da',
      say: 'Der Dienst ist im Moment nicht erreichbar. Eine gesendete Zahlung ist sicher: Sie wird gefunden. Versuchen Sie es gleich noch einmal.',
    },
    request: {
      title: 'Das hat nicht geklappt',
      say: 'Gehen Sie zurück und versuchen Sie es noch einmal.',
    },
    internal: {
      title: 'Bei uns ist etwas schiefgegangen',
      say: 'Versuchen Sie es noch einmal. Wenn es bleibt, geben Sie dem Verkäufer diese Nummer:',
    },
    retry: 'Noch einmal versuchen',
  },
}
