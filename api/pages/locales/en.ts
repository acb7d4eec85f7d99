/**
 * English, and the measure for every other language: {@link Texts} is what a locale must say. Texts are plain, without
 * markup: templates escape them. Amounts and names are put in as they are.
 */
export const en = {
  language: 'en',
  /** As its speakers call it. */
  languageName: 'English',
  languages: 'Language',
  direction: 'ltr' as 'ltr' | 'rtl',

  testMode: 'Test mode: no real money moves here.',
  poweredBy: 'Payments go straight to the seller’s own wallet.',
  /** A decimal of US dollars, such as `1234.50`. */
  usd: (amount: string) => `$${amount.replace(/\B(?=(\d{3})+\.)/g, ',')}`,
  each: {
    DAY: (count: number) => (count === 1 ? 'every day' : `every ${count} days`),
    WEEK: (count: number) => (count === 1 ? 'every week' : `every ${count} weeks`),
    MONTH: (count: number) => (count === 1 ? 'every month' : `every ${count} months`),
    YEAR: (count: number) => (count === 1 ? 'every year' : `every ${count} years`),
  },
  backToSeller: (seller: string) => `Back to ${seller}`,

  home: {
    title: 'Stablecoin payments',
    lead: 'This server takes USDC and USDT payments for online sellers, straight into their own wallets.',
    buyers: 'Here to pay? Open the link the seller gave you.',
    sellers: 'Selling something? The API reference says how to begin.',
    docs: 'Read the API reference',
  },

  buy: {
    title: (seller: string) => `Pay ${seller}`,
    due: 'To pay',
    choose: 'Pay with',
    network: (token: string, network: string) => `${token} on ${network}`,
    chooseHint: 'Choose the network your wallet or exchange sends from.',
    speed: (seconds: number) =>
      seconds < 90
        ? `confirmed in about ${seconds} s`
        : `confirmed in about ${Math.round(seconds / 60)} min`,
    email: 'Your e-mail address',
    emailHint: 'We write before each payment is due. Nothing is ever taken by itself.',
    emailWrong: 'Write one e-mail address, such as ann@mail.example.',
    optionWrong: 'Choose what to pay with.',
    go: 'Continue to payment',
    goHint: 'You will see the address and the exact amount next.',
    noOptions: 'This seller cannot take this payment at the moment.',
    resume: 'You have begun to pay already.',
    resumeLink: 'Continue that payment',
  },

  pay: {
    status: {
      PENDING: 'Waiting for your payment',
      DETECTED: 'Payment seen',
      CONFIRMED: 'Payment confirmed',
      UNDERPAID: 'Too little was paid',
      OVERPAID: 'Paid, with more than was due',
      EXPIRED: 'This payment has expired',
      CANCELED: 'This payment was canceled',
      WINDOW_OVER: 'The time to pay is over',
    },
    say: {
      DETECTED: (network: string) =>
        `Your transfer is on its way. It counts once ${network} has confirmed it; this page may be closed.`,
      CONFIRMED: (seller: string) => `Thank you. ${seller} has been told.`,
      UNDERPAID: (received: string, due: string, seller: string) =>
        `${received} of ${due} arrived. Ask ${seller} what to do about it, with the payment number below.`,
      OVERPAID: (received: string, due: string, seller: string) =>
        `${received} arrived where ${due} was due. ${seller} has been told; ask there about the difference.`,
      EXPIRED: (seller: string) =>
        `Send nothing to its address any more. If you have paid, ask ${seller}, with the payment number below.`,
      CANCELED: (seller: string) =>
        `Send nothing to its address any more. If you have paid, ask ${seller}, with the payment number below.`,
      WINDOW_OVER:
        'Please send nothing any more. If you have paid in time, it will show here in a moment.',
    },
    steps: { name: 'Progress', PENDING: 'Waiting', DETECTED: 'Seen', CONFIRMED: 'Confirmed' },
    confirmations: (count: number, required: number) => `${count} of ${required} confirmations`,
    timeLeft: 'Time left',
    minutesLeft: (minutes: number) => (minutes === 1 ? '1 min' : `${minutes} min`),
    send: 'Send exactly',
    exactHint: 'To the last digit: it is how your payment is told from others.',
    feeHint: 'Fees of an exchange or wallet come on top: this much must arrive.',
    to: 'To this address',
    only: (token: string, network: string) => `Send only ${token} on ${network}.`,
    onlyHint: 'Another token, or another network, may be lost.',
    onlyTest: (network: string) =>
      `Use a test network of ${network}; real money sent here may be lost.`,
    qr: 'QR code',
    qrAddress: 'Address',
    qrAddressHint: 'For any wallet: holds the address alone. Fill in the amount yourself.',
    qrAddressLabel: (address: string) => `QR code of the address ${address}`,
    qrUri: 'Payment link',
    qrUriHint:
      'Fills in token and amount where a wallet understands it. Check both before you send.',
    qrUriLabel: 'QR code of a payment link with address, token and amount',
    openWallet: 'Open in a wallet',
    copyAmount: 'Copy the amount',
    copyAddress: 'Copy the address',
    copy: 'Copy',
    copied: 'Copied',
    selected: 'Selected: copy it now',
    number: 'Payment number',
    network: 'Network',
    transaction: 'Transaction',
    explorer: 'Look it up in the explorer',
    otherWay: 'Pay another way',
    again: 'Try again',
    cancel: 'Cancel this payment',
    cancelSure: 'Only if you have sent nothing yet.',
    cancelGo: 'Yes, cancel it',
    continue: (seller: string) => `Continue to ${seller}`,
    offline: 'No connection. Trying again…',
    simulate: 'Simulate the payment',
  },

  renew: {
    title: (seller: string) => `Your subscription at ${seller}`,
    pending: 'It begins with the first payment.',
    active: (date: string) => `The next payment is due on ${date}. You may pay it early.`,
    pastDue: (date: string) =>
      `The payment due on ${date} is missing. Pay it now, and the subscription goes on.`,
    expired: (seller: string) => `It has ended unpaid. To have it again, subscribe at ${seller}.`,
    canceled: (seller: string) =>
      `It was canceled. Nothing is due any more. To have it again, subscribe at ${seller}.`,
    go: 'Pay the next period',
    goFirst: 'Pay the first period',
    cancel: 'Cancel the subscription',
    cancelSure: 'It ends at once, and nobody writes to you about it again.',
    cancelGo: 'Yes, cancel it',
  },

  verify: {
    title: 'Verify your e-mail address',
    lead: 'Press the button, and your live keys can take payments.',
    go: 'Verify my address',
    doneTitle: 'Your address is verified',
    done: 'Your live keys can take payments now. This page may be closed.',
  },

  reset: {
    title: 'Set a new password',
    lead: 'Every login of the account ends with it.',
    password: 'New password',
    passwordHint: '12 characters or more.',
    repeat: 'The same once more',
    go: 'Set the password',
    weak: 'Use 12 characters or more, and at most 1,024 bytes.',
    different: 'The two are not the same. Write them again.',
    doneTitle: 'The password is set',
    done: 'Every earlier login has ended. Log in with the new password.',
  },

  link: {
    title: 'This link does not work any more',
    say: 'It was used already or has ended. Write your address, and a new one is mailed to you.',
    go: 'Mail me a new link',
    doneTitle: 'Look into your mailbox',
    done: 'If an account needs a link at this address, it is on its way. Use the one in the newest mail.',
  },

  problem: {
    not_found: {
      title: 'There is nothing here',
      say: 'Check the link, or ask whoever gave it to you.',
    },
    closed: {
      title: 'This checkout is over',
      say: 'It was closed or has expired. Begin again at the seller’s.',
    },
    inactive: { title: 'This is no longer sold', say: 'The seller has taken this link down.' },
    seller: {
      title: 'The seller cannot take payments now',
      say: 'Nothing was charged. Ask the seller.',
    },
    busy: {
      title: 'Too many payments at this moment',
      say: 'Nothing was charged. Wait a minute and try again.',
    },
    option: { title: 'That cannot be paid with here', say: 'Go back and choose another network.' },
    unavailable: {
      title: 'We will be right back',
      say: 'The service cannot be reached at the moment. A payment that was sent is safe: it will be found. Try again in a moment.',
    },
    request: { title: 'That did not work', say: 'Go back and try again.' },
    internal: {
      title: 'Something went wrong on our side',
      say: 'Try again. If it stays, give the seller this number:',
    },
    retry: 'Try again',
  },
}

/** What every locale says. */
export type Texts = typeof en
