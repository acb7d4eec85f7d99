import { en, type Texts } from './en.ts'

/** Indonesian. */
export const id: Texts = {
  language: 'id',
  languageName: 'Bahasa Indonesia',
  languages: 'Bahasa',
  direction: 'ltr',

  testMode: 'Mode uji: tidak ada uang sungguhan yang berpindah di sini.',
  poweredBy: 'Pembayaran langsung masuk ke dompet milik penjual.',
  usd: en.usd,
  each: {
    DAY: (count) => (count === 1 ? 'setiap hari' : `setiap ${count} hari`),
    WEEK: (count) => (count === 1 ? 'setiap minggu' : `setiap ${count} minggu`),
    MONTH: (count) => (count === 1 ? 'setiap bulan' : `setiap ${count} bulan`),
    YEAR: (count) => (count === 1 ? 'setiap tahun' : `setiap ${count} tahun`),
  },
  backToSeller: (seller) => `Kembali ke ${seller}`,

  home: {
    title: 'Pembayaran stablecoin',
    lead: 'Server ini menerima pembayaran USDC dan USDT untuk penjual daring, langsung ke dompet mereka sendiri.',
    buyers: 'Ingin membayar? Buka tautan yang diberikan penjual.',
    sellers: 'Menjual sesuatu? Referensi API menjelaskan cara memulai.',
    docs: 'Baca referensi API',
  },

  buy: {
    title: (seller) => `Bayar ${seller}`,
    due: 'Jumlah tagihan',
    choose: 'Bayar dengan',
    network: (token, network) => `${token} di ${network}`,
    chooseHint: 'Pilih jaringan yang dipakai dompet atau bursa Anda untuk mengirim.',
    speed: (seconds) =>
      seconds < 90
        ? `dikonfirmasi dalam sekitar ${seconds} detik`
        : `dikonfirmasi dalam sekitar ${Math.round(seconds / 60)} menit`,
    email: 'Alamat email Anda',
    emailHint: 'Kami menulis sebelum setiap jatuh tempo. Tidak ada yang ditarik otomatis.',
    emailWrong: 'Tulis satu alamat email, misalnya ann@mail.example.',
    optionWrong: 'Pilih cara membayar.',
    go: 'Lanjut ke pembayaran',
    goHint: 'Berikutnya Anda akan melihat alamat dan jumlah persisnya.',
    noOptions: 'Penjual tidak dapat menerima pembayaran ini saat ini.',
    resume: 'Anda sudah mulai membayar.',
    resumeLink: 'Lanjutkan pembayaran itu',
  },

  pay: {
    status: {
      PENDING: 'Menunggu pembayaran Anda',
      DETECTED: 'Pembayaran terlihat',
      CONFIRMED: 'Pembayaran dikonfirmasi',
      UNDERPAID: 'Pembayaran kurang',
      OVERPAID: 'Terbayar, lebih dari tagihan',
      EXPIRED: 'Pembayaran ini sudah kedaluwarsa',
      CANCELED: 'Pembayaran ini dibatalkan',
      WINDOW_OVER: 'Waktu untuk membayar sudah habis',
    },
    say: {
      DETECTED: (network) =>
        `Transfer Anda sedang berjalan. Dihitung setelah ${network} mengonfirmasinya; halaman ini boleh ditutup.`,
      CONFIRMED: (seller) => `Terima kasih. ${seller} sudah diberi tahu.`,
      UNDERPAID: (received, due, seller) =>
        `${received} dari ${due} sudah tiba. Tanyakan kepada ${seller} apa yang harus dilakukan, dengan nomor pembayaran di bawah.`,
      OVERPAID: (received, due, seller) =>
        `${received} tiba, padahal tagihannya ${due}. ${seller} sudah diberi tahu; tanyakan selisihnya di sana.`,
      EXPIRED: (seller) =>
        `Jangan kirim apa pun lagi ke alamatnya. Jika sudah membayar, tanyakan kepada ${seller}, dengan nomor pembayaran di bawah.`,
      CANCELED: (seller) =>
        `Jangan kirim apa pun lagi ke alamatnya. Jika sudah membayar, tanyakan kepada ${seller}, dengan nomor pembayaran di bawah.`,
      WINDOW_OVER:
        'Mohon jangan kirim apa pun lagi. Jika Anda membayar tepat waktu, akan segera tampil di sini.',
    },
    steps: {
      name: 'Kemajuan',
      PENDING: 'Menunggu',
      DETECTED: 'Terlihat',
      CONFIRMED: 'Dikonfirmasi',
    },
    confirmations: (count, required) => `${count} dari ${required} konfirmasi`,
    timeLeft: 'Sisa waktu',
    minutesLeft: (minutes) => `${minutes} menit`,
    send: 'Kirim tepat',
    exactHint: 'Sampai angka terakhir: begitulah pembayaran Anda dibedakan dari yang lain.',
    feeHint: 'Biaya bursa atau dompet ditambahkan sendiri: jumlah ini harus tiba.',
    to: 'Ke alamat ini',
    only: (token, network) => `Kirim hanya ${token} di ${network}.`,
    onlyHint: 'Token lain atau jaringan lain dapat hilang.',
    onlyTest: (network) =>
      `Gunakan jaringan uji ${network}; uang sungguhan yang dikirim ke sini dapat hilang.`,
    qr: 'Kode QR',
    qrAddress: 'Alamat',
    qrAddressHint: 'Untuk dompet apa pun: hanya berisi alamat. Isi sendiri jumlahnya.',
    qrAddressLabel: (address) => `Kode QR alamat ${address}`,
    qrUri: 'Tautan pembayaran',
    qrUriHint:
      'Mengisi token dan jumlah jika dompet memahaminya. Periksa keduanya sebelum mengirim.',
    qrUriLabel: 'Kode QR tautan pembayaran berisi alamat, token, dan jumlah',
    openWallet: 'Buka di dompet',
    copyAmount: 'Salin jumlah',
    copyAddress: 'Salin alamat',
    copy: 'Salin',
    copied: 'Tersalin',
    selected: 'Terpilih: salin sekarang',
    number: 'Nomor pembayaran',
    network: 'Jaringan',
    transaction: 'Transaksi',
    explorer: 'Lihat di penjelajah',
    otherWay: 'Bayar dengan cara lain',
    again: 'Coba lagi',
    cancel: 'Batalkan pembayaran ini',
    cancelSure: 'Hanya jika Anda belum mengirim apa pun.',
    cancelGo: 'Ya, batalkan',
    continue: (seller) => `Lanjut ke ${seller}`,
    offline: 'Tidak ada koneksi. Mencoba lagi…',
    simulate: 'Simulasikan pembayaran',
  },

  renew: {
    title: (seller) => `Langganan Anda di ${seller}`,
    pending: 'Dimulai dengan pembayaran pertama.',
    active: (date) => `Pembayaran berikutnya jatuh tempo pada ${date}. Boleh dibayar lebih awal.`,
    pastDue: (date) =>
      `Pembayaran yang jatuh tempo pada ${date} belum ada. Bayar sekarang agar langganan berlanjut.`,
    expired: (seller) =>
      `Berakhir tanpa dibayar. Untuk memilikinya lagi, berlanggananlah di ${seller}.`,
    canceled: (seller) =>
      `Sudah dibatalkan. Tidak ada tagihan lagi. Untuk memilikinya lagi, berlanggananlah di ${seller}.`,
    go: 'Bayar periode berikutnya',
    goFirst: 'Bayar periode pertama',
    cancel: 'Batalkan langganan',
    cancelSure: 'Langsung berakhir, dan tidak ada yang menulis kepada Anda lagi tentangnya.',
    cancelGo: 'Ya, batalkan',
  },

  verify: {
    title: 'Verifikasi alamat email Anda',
    lead: 'Tekan tombolnya, dan kunci live Anda dapat menerima pembayaran.',
    go: 'Verifikasi alamat saya',
    doneTitle: 'Alamat Anda terverifikasi',
    done: 'Kunci live Anda kini dapat menerima pembayaran. Halaman ini boleh ditutup.',
  },

  reset: {
    title: 'Buat kata sandi baru',
    lead: 'Semua login akun berakhir bersamanya.',
    password: 'Kata sandi baru',
    passwordHint: '12 karakter atau lebih.',
    repeat: 'Yang sama sekali lagi',
    go: 'Simpan kata sandi',
    weak: 'Gunakan 12 karakter atau lebih, dan paling banyak 1.024 byte.',
    different: 'Keduanya tidak sama. Tulis lagi.',
    doneTitle: 'Kata sandi tersimpan',
    done: 'Semua login sebelumnya telah berakhir. Masuk dengan kata sandi baru.',
  },

  link: {
    title: 'Tautan ini tidak berlaku lagi',
    say: 'Sudah dipakai atau sudah berakhir. Tulis alamat Anda, dan yang baru akan dikirim.',
    go: 'Kirimi saya tautan baru',
    doneTitle: 'Periksa kotak surat Anda',
    done: 'Jika akun dengan alamat ini memerlukan tautan, tautan itu sedang dikirim. Gunakan yang ada di email terbaru.',
  },

  problem: {
    not_found: {
      title: 'Tidak ada apa-apa di sini',
      say: 'Periksa tautannya, atau tanyakan kepada yang memberikannya.',
    },
    closed: {
      title: 'Pembelian ini sudah selesai',
      say: 'Sudah ditutup atau kedaluwarsa. Mulai lagi di tempat penjual.',
    },
    inactive: { title: 'Ini tidak dijual lagi', say: 'Penjual telah menarik tautan ini.' },
    seller: {
      title: 'Penjual tidak dapat menerima pembayaran sekarang',
      say: 'Tidak ada yang ditagih. Tanyakan kepada penjual.',
    },
    busy: {
      title: 'Terlalu banyak pembayaran saat ini',
      say: 'Tidak ada yang ditagih. Tunggu satu menit lalu coba lagi.',
    },
    option: {
      title: 'Tidak bisa membayar dengan itu di sini',
      say: 'Kembali dan pilih jaringan lain.',
    },
    unavailable: {
      title: 'Kami segera kembali',
      say: 'Layanan sedang tidak dapat dijangkau. Pembayaran yang sudah dikirim aman: pasti ditemukan. Coba lagi sebentar lagi.',
    },
    request: { title: 'Itu tidak berhasil', say: 'Kembali dan coba lagi.' },
    internal: {
      title: 'Ada yang salah di pihak kami',
      say: 'Coba lagi. Jika tetap gagal, berikan nomor ini kepada penjual:',
    },
    retry: 'Coba lagi',
  },
}
