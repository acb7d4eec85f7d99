import { en, type Texts } from './en.ts'

/** Turkish. */
export const tr: Texts = {
  language: 'tr',
  languageName: 'Türkçe',
  languages: 'Dil',
  direction: 'ltr',

  testMode: 'Test modu: burada gerçek para hareket etmez.',
  poweredBy: 'Ödemeler doğrudan satıcının kendi cüzdanına gider.',
  usd: en.usd,
  each: {
    DAY: (count) => (count === 1 ? 'her gün' : `her ${count} günde bir`),
    WEEK: (count) => (count === 1 ? 'her hafta' : `her ${count} haftada bir`),
    MONTH: (count) => (count === 1 ? 'her ay' : `her ${count} ayda bir`),
    YEAR: (count) => (count === 1 ? 'her yıl' : `her ${count} yılda bir`),
  },
  backToSeller: (seller) => `Geri dön: ${seller}`,

  home: {
    title: 'Stablecoin ödemeleri',
    lead: 'Bu sunucu, çevrimiçi satıcılar için USDC ve USDT ödemelerini doğrudan kendi cüzdanlarına alır.',
    buyers: 'Ödeme yapmaya mı geldiniz? Satıcının verdiği bağlantıyı açın.',
    sellers: 'Bir şey mi satıyorsunuz? API başvurusu nasıl başlanacağını anlatır.',
    docs: 'API başvurusunu oku',
  },

  buy: {
    title: (seller) => `Ödeme: ${seller}`,
    due: 'Ödenecek tutar',
    choose: 'Ödeme yöntemi',
    network: (token, network) => `${network} üzerinde ${token}`,
    chooseHint: 'Cüzdanınızın veya borsanızın gönderdiği ağı seçin.',
    speed: (seconds) =>
      seconds < 90
        ? `yaklaşık ${seconds} sn içinde onaylanır`
        : `yaklaşık ${Math.round(seconds / 60)} dk içinde onaylanır`,
    email: 'E-posta adresiniz',
    emailHint: 'Her ödeme gününden önce yazarız. Hiçbir şey kendiliğinden çekilmez.',
    emailWrong: 'Bir e-posta adresi yazın, örneğin ann@mail.example.',
    optionWrong: 'Neyle ödeyeceğinizi seçin.',
    go: 'Ödemeye devam et',
    goHint: 'Sonraki adımda adresi ve kesin tutarı göreceksiniz.',
    noOptions: 'Satıcı şu anda bu ödemeyi alamıyor.',
    resume: 'Ödemeye zaten başladınız.',
    resumeLink: 'O ödemeye devam et',
  },

  pay: {
    status: {
      PENDING: 'Ödemeniz bekleniyor',
      DETECTED: 'Ödeme görüldü',
      CONFIRMED: 'Ödeme onaylandı',
      UNDERPAID: 'Eksik ödendi',
      OVERPAID: 'Ödendi, gerekenden fazlasıyla',
      EXPIRED: 'Bu ödemenin süresi doldu',
      CANCELED: 'Bu ödeme iptal edildi',
      WINDOW_OVER: 'Ödeme süresi bitti',
    },
    say: {
      DETECTED: (network) =>
        `Transferiniz yolda. ${network} onayladığında sayılır; bu sayfayı kapatabilirsiniz.`,
      CONFIRMED: (seller) => `Teşekkürler. Satıcıya haber verildi: ${seller}.`,
      UNDERPAID: (received, due, seller) =>
        `${due} tutarın ${received} kadarı geldi. Ne yapılacağını aşağıdaki ödeme numarasıyla satıcıya sorun: ${seller}.`,
      OVERPAID: (received, due, seller) =>
        `${due} gerekirken ${received} geldi. Satıcıya haber verildi (${seller}); farkı orada sorun.`,
      EXPIRED: (seller) =>
        `Adresine artık bir şey göndermeyin. Ödediyseniz aşağıdaki ödeme numarasıyla satıcıya sorun: ${seller}.`,
      CANCELED: (seller) =>
        `Adresine artık bir şey göndermeyin. Ödediyseniz aşağıdaki ödeme numarasıyla satıcıya sorun: ${seller}.`,
      WINDOW_OVER:
        'Lütfen artık bir şey göndermeyin. Zamanında ödediyseniz birazdan burada görünür.',
    },
    steps: { name: 'İlerleme', PENDING: 'Bekleniyor', DETECTED: 'Görüldü', CONFIRMED: 'Onaylandı' },
    confirmations: (count, required) => `${count} / ${required} onay`,
    timeLeft: 'Kalan süre',
    minutesLeft: (minutes) => `${minutes} dk`,
    send: 'Tam olarak gönderin',
    exactHint: 'Son basamağına kadar: ödemeniz diğerlerinden böyle ayrılır.',
    feeHint: 'Borsa veya cüzdan ücretleri ayrıcadır: bu tutar ulaşmalıdır.',
    to: 'Bu adrese',
    only: (token, network) => `Yalnızca ${network} üzerinde ${token} gönderin.`,
    onlyHint: 'Başka bir token veya başka bir ağ kaybolabilir.',
    onlyTest: (network) =>
      `Bir ${network} test ağı kullanın; buraya gönderilen gerçek para kaybolabilir.`,
    qr: 'QR kodu',
    qrAddress: 'Adres',
    qrAddressHint: 'Her cüzdan için: yalnızca adresi içerir. Tutarı kendiniz yazın.',
    qrAddressLabel: (address) => `${address} adresinin QR kodu`,
    qrUri: 'Ödeme bağlantısı',
    qrUriHint:
      'Cüzdan anlıyorsa token ve tutarı doldurur. Göndermeden önce ikisini de kontrol edin.',
    qrUriLabel: 'Adres, token ve tutar içeren ödeme bağlantısının QR kodu',
    openWallet: 'Cüzdanda aç',
    copyAmount: 'Tutarı kopyala',
    copyAddress: 'Adresi kopyala',
    copy: 'Kopyala',
    copied: 'Kopyalandı',
    selected: 'Seçildi: şimdi kopyalayın',
    number: 'Ödeme numarası',
    network: 'Ağ',
    transaction: 'İşlem',
    explorer: 'Gezginde görüntüle',
    otherWay: 'Başka şekilde öde',
    again: 'Yeniden dene',
    cancel: 'Bu ödemeyi iptal et',
    cancelSure: 'Yalnızca henüz bir şey göndermediyseniz.',
    cancelGo: 'Evet, iptal et',
    continue: (seller) => `Devam et: ${seller}`,
    offline: 'Bağlantı yok. Yeniden deneniyor…',
    simulate: 'Ödemeyi simüle et',
  },

  renew: {
    title: (seller) => `Aboneliğiniz: ${seller}`,
    pending: 'İlk ödemeyle başlar.',
    active: (date) => `Sonraki ödeme günü: ${date}. Daha erken de ödeyebilirsiniz.`,
    pastDue: (date) => `${date} tarihli ödeme eksik. Şimdi öderseniz abonelik sürer.`,
    expired: (seller) => `Ödenmeden sona erdi. Yeniden almak için satıcıda abone olun: ${seller}.`,
    canceled: (seller) =>
      `İptal edildi. Artık bir borç yok. Yeniden almak için satıcıda abone olun: ${seller}.`,
    go: 'Sonraki dönemi öde',
    goFirst: 'İlk dönemi öde',
    cancel: 'Aboneliği iptal et',
    cancelSure: 'Hemen sona erer ve kimse size bunun için bir daha yazmaz.',
    cancelGo: 'Evet, iptal et',
  },

  verify: {
    title: 'E-posta adresinizi doğrulayın',
    lead: 'Düğmeye basın; canlı anahtarlarınız ödeme alabilir.',
    go: 'Adresimi doğrula',
    doneTitle: 'Adresiniz doğrulandı',
    done: 'Canlı anahtarlarınız artık ödeme alabilir. Bu sayfayı kapatabilirsiniz.',
  },

  reset: {
    title: 'Yeni parola belirleyin',
    lead: 'Bununla hesabın tüm oturumları sona erer.',
    password: 'Yeni parola',
    passwordHint: '12 veya daha fazla karakter.',
    repeat: 'Aynısı bir kez daha',
    go: 'Parolayı belirle',
    weak: '12 veya daha fazla karakter, en çok 1.024 bayt kullanın.',
    different: 'İkisi aynı değil. Yeniden yazın.',
    doneTitle: 'Parola belirlendi',
    done: 'Önceki oturumlar sona erdi. Yeni parolayla giriş yapın.',
  },

  link: {
    title: 'Bu bağlantı artık çalışmıyor',
    say: 'Kullanılmış ya da süresi dolmuş. Adresinizi yazın, size yenisi gönderilsin.',
    go: 'Bana yeni bağlantı gönder',
    doneTitle: 'Posta kutunuza bakın',
    done: 'Bu adresteki bir hesabın bağlantıya ihtiyacı varsa yoldadır. En yeni e-postadakini kullanın.',
  },

  problem: {
    not_found: {
      title: 'Burada bir şey yok',
      say: 'Bağlantıyı kontrol edin veya size verene sorun.',
    },
    closed: {
      title: 'Bu alışveriş sona erdi',
      say: 'Kapatıldı veya süresi doldu. Satıcıda yeniden başlayın.',
    },
    inactive: { title: 'Bu artık satılmıyor', say: 'Satıcı bu bağlantıyı kaldırdı.' },
    seller: {
      title: 'Satıcı şu anda ödeme alamıyor',
      say: 'Hiçbir şey tahsil edilmedi. Satıcıya sorun.',
    },
    busy: {
      title: 'Şu anda çok fazla ödeme var',
      say: 'Hiçbir şey tahsil edilmedi. Bir dakika bekleyip yeniden deneyin.',
    },
    option: { title: 'Burada bununla ödenemez', say: 'Geri dönüp başka bir ağ seçin.' },
    unavailable: {
      title: 'Hemen döneceğiz',
      say: 'Hizmete şu anda ulaşılamıyor. Gönderilmiş bir ödeme güvendedir: bulunacaktır. Birazdan yeniden deneyin.',
    },
    request: { title: 'Bu olmadı', say: 'Geri dönüp yeniden deneyin.' },
    internal: {
      title: 'Bizim tarafımızda bir sorun oldu',
      say: 'Yeniden deneyin. Sürerse satıcıya bu numarayı verin:',
    },
    retry: 'Yeniden dene',
  },
}
