import { en, type Texts } from './en.ts'

/** Japanese. */
export const ja: Texts = {
  language: 'ja',
  languageName: '日本語',
  languages: '言語',
  direction: 'ltr',

  testMode: 'テストモード：ここでは実際のお金は動きません。',
  poweredBy: 'お支払いは販売者自身のウォレットに直接届きます。',
  usd: en.usd,
  each: {
    DAY: (count) => (count === 1 ? '毎日' : `${count}日ごと`),
    WEEK: (count) => (count === 1 ? '毎週' : `${count}週間ごと`),
    MONTH: (count) => (count === 1 ? '毎月' : `${count}か月ごと`),
    YEAR: (count) => (count === 1 ? '毎年' : `${count}年ごと`),
  },
  backToSeller: (seller) => `${seller} に戻る`,

  home: {
    title: 'ステーブルコイン決済',
    lead: 'このサーバーは、オンライン販売者のために USDC と USDT の支払いを販売者自身のウォレットに直接受け取ります。',
    buyers: 'お支払いですか？販売者から受け取ったリンクを開いてください。',
    sellers: '販売される方は、API リファレンスに始め方があります。',
    docs: 'API リファレンスを読む',
  },

  buy: {
    title: (seller) => `${seller} へのお支払い`,
    due: 'お支払い金額',
    choose: 'お支払い方法',
    network: (token, network) => `${network} の ${token}`,
    chooseHint: 'お使いのウォレットや取引所が送金に使うネットワークを選んでください。',
    speed: (seconds) =>
      seconds < 90 ? `約${seconds}秒で確認` : `約${Math.round(seconds / 60)}分で確認`,
    email: 'メールアドレス',
    emailHint: 'お支払い期日の前にお知らせします。自動で引き落とされることはありません。',
    emailWrong: 'ann@mail.example のようなメールアドレスを一つ入力してください。',
    optionWrong: 'お支払い方法を選んでください。',
    go: '支払いに進む',
    goHint: '次の画面にアドレスと正確な金額が表示されます。',
    noOptions: '販売者は現在このお支払いを受け取れません。',
    resume: 'すでにお支払いを始めています。',
    resumeLink: 'そのお支払いを続ける',
  },

  pay: {
    status: {
      PENDING: 'お支払いをお待ちしています',
      DETECTED: 'お支払いを検出しました',
      CONFIRMED: 'お支払いが確認されました',
      UNDERPAID: 'お支払いが不足しています',
      OVERPAID: '支払い済み（超過あり）',
      EXPIRED: 'このお支払いは期限切れです',
      CANCELED: 'このお支払いは取り消されました',
      WINDOW_OVER: 'お支払いの時間が終わりました',
    },
    say: {
      DETECTED: (network) =>
        `送金が進行中です。${network} が確認すると有効になります。このページは閉じても構いません。`,
      CONFIRMED: (seller) => `ありがとうございます。${seller} に通知しました。`,
      UNDERPAID: (received, due, seller) =>
        `${due} のうち ${received} が届きました。下の支払い番号を添えて ${seller} にお問い合わせください。`,
      OVERPAID: (received, due, seller) =>
        `${due} のところ ${received} が届きました。${seller} に通知しました。差額についてはそちらにお問い合わせください。`,
      EXPIRED: (seller) =>
        `このアドレスにはもう送金しないでください。お支払い済みの場合は、下の支払い番号を添えて ${seller} にお問い合わせください。`,
      CANCELED: (seller) =>
        `このアドレスにはもう送金しないでください。お支払い済みの場合は、下の支払い番号を添えて ${seller} にお問い合わせください。`,
      WINDOW_OVER:
        'もう送金しないでください。時間内にお支払いになった場合は、まもなくここに表示されます。',
    },
    steps: { name: '進行状況', PENDING: '待機中', DETECTED: '検出', CONFIRMED: '確認済み' },
    confirmations: (count, required) => `確認 ${count}/${required}`,
    timeLeft: '残り時間',
    minutesLeft: (minutes) => `${minutes}分`,
    send: '正確に送る金額',
    exactHint: '最後の桁まで正確に：これでお支払いが他と区別されます。',
    feeHint: '取引所やウォレットの手数料は別です。この金額が届く必要があります。',
    to: '送り先アドレス',
    only: (token, network) => `${network} の ${token} だけを送ってください。`,
    onlyHint: '他のトークンや他のネットワークでは失われることがあります。',
    onlyTest: (network) =>
      `${network} のテストネットワークを使ってください。実際のお金は失われることがあります。`,
    qr: 'QR コード',
    qrAddress: 'アドレス',
    qrAddressHint:
      'どのウォレットでも使えます。アドレスだけを含みます。金額はご自分で入力してください。',
    qrAddressLabel: (address) => `アドレス ${address} の QR コード`,
    qrUri: '支払いリンク',
    qrUriHint:
      '対応するウォレットではトークンと金額が入力されます。送る前に両方を確認してください。',
    qrUriLabel: 'アドレス、トークン、金額を含む支払いリンクの QR コード',
    openWallet: 'ウォレットで開く',
    copyAmount: '金額をコピー',
    copyAddress: 'アドレスをコピー',
    copy: 'コピー',
    copied: 'コピーしました',
    selected: '選択しました：コピーしてください',
    number: '支払い番号',
    network: 'ネットワーク',
    transaction: 'トランザクション',
    explorer: 'エクスプローラーで見る',
    otherWay: '別の方法で支払う',
    again: 'もう一度試す',
    cancel: 'このお支払いを取り消す',
    cancelSure: 'まだ何も送っていない場合に限ります。',
    cancelGo: 'はい、取り消します',
    continue: (seller) => `${seller} に進む`,
    offline: '接続がありません。再試行しています…',
    simulate: '支払いをシミュレートする',
  },

  renew: {
    title: (seller) => `${seller} の定期購入`,
    pending: '最初のお支払いで始まります。',
    active: (date) => `次のお支払い期日は ${date} です。早めにお支払いいただけます。`,
    pastDue: (date) =>
      `${date} 期日のお支払いがありません。今お支払いになると、定期購入は続きます。`,
    expired: (seller) =>
      `お支払いがないまま終了しました。再開するには ${seller} で申し込んでください。`,
    canceled: (seller) =>
      `解約されました。今後のお支払いはありません。再開するには ${seller} で申し込んでください。`,
    go: '次の期間を支払う',
    goFirst: '最初の期間を支払う',
    cancel: '定期購入を解約する',
    cancelSure: 'すぐに終了し、以後これについてのご連絡はありません。',
    cancelGo: 'はい、解約します',
  },

  verify: {
    title: 'メールアドレスの確認',
    lead: 'ボタンを押すと、本番キーでお支払いを受け取れるようになります。',
    go: 'アドレスを確認する',
    doneTitle: 'アドレスが確認されました',
    done: '本番キーでお支払いを受け取れるようになりました。このページは閉じても構いません。',
  },

  reset: {
    title: '新しいパスワードの設定',
    lead: 'アカウントのすべてのログインが終了します。',
    password: '新しいパスワード',
    passwordHint: '12 文字以上。',
    repeat: '同じものをもう一度',
    go: 'パスワードを設定する',
    weak: '12 文字以上、1,024 バイト以下にしてください。',
    different: '二つが一致しません。もう一度入力してください。',
    doneTitle: 'パスワードを設定しました',
    done: '以前のログインはすべて終了しました。新しいパスワードでログインしてください。',
  },

  link: {
    title: 'このリンクは無効です',
    say: '使用済みか、期限が切れています。アドレスを入力すると、新しいリンクをお送りします。',
    go: '新しいリンクを送る',
    doneTitle: 'メールをご確認ください',
    done: 'このアドレスのアカウントにリンクが必要であれば、お送りしました。最新のメールのリンクを使ってください。',
  },

  problem: {
    not_found: {
      title: 'ここには何もありません',
      say: 'リンクを確かめるか、リンクをくれた方にお尋ねください。',
    },
    closed: {
      title: 'この購入手続きは終了しました',
      say: '終了したか、期限が切れました。販売者のところからやり直してください。',
    },
    inactive: { title: '販売を終了しました', say: '販売者がこのリンクを取り下げました。' },
    seller: {
      title: '販売者は現在お支払いを受け取れません',
      say: '請求はされていません。販売者にお問い合わせください。',
    },
    busy: {
      title: '現在お支払いが集中しています',
      say: '請求はされていません。1 分ほど待ってもう一度お試しください。',
    },
    option: {
      title: 'ここではその方法で支払えません',
      say: '戻って別のネットワークを選んでください。',
    },
    unavailable: {
      title: 'まもなく再開します',
      say: '現在サービスに接続できません。送金済みのお支払いは安全で、必ず見つかります。少し後でもう一度お試しください。',
    },
    request: { title: 'うまくいきませんでした', say: '戻ってもう一度お試しください。' },
    internal: {
      title: '当方で問題が発生しました',
      say: 'もう一度お試しください。続く場合は、この番号を販売者にお伝えください：',
    },
    retry: 'もう一度試す',
  },
}
