import { en, type Texts } from './en.ts'

/** Vietnamese. */
export const vi: Texts = {
  language: 'vi',
  languageName: 'Tiếng Việt',
  languages: 'Ngôn ngữ',
  direction: 'ltr',

  testMode: 'Chế độ thử: không có tiền thật nào được chuyển ở đây.',
  poweredBy: 'Tiền thanh toán vào thẳng ví của người bán.',
  usd: en.usd,
  each: {
    DAY: (count) => (count === 1 ? 'mỗi ngày' : `mỗi ${count} ngày`),
    WEEK: (count) => (count === 1 ? 'mỗi tuần' : `mỗi ${count} tuần`),
    MONTH: (count) => (count === 1 ? 'mỗi tháng' : `mỗi ${count} tháng`),
    YEAR: (count) => (count === 1 ? 'mỗi năm' : `mỗi ${count} năm`),
  },
  backToSeller: (seller) => `Quay lại ${seller}`,

  home: {
    title: 'Thanh toán bằng stablecoin',
    lead: 'Máy chủ này nhận thanh toán USDC và USDT cho người bán trực tuyến, vào thẳng ví của họ.',
    buyers: 'Bạn đến để thanh toán? Hãy mở liên kết người bán đã gửi.',
    sellers: 'Bạn bán hàng? Tài liệu API cho biết cách bắt đầu.',
    docs: 'Đọc tài liệu API',
  },

  buy: {
    title: (seller) => `Thanh toán cho ${seller}`,
    due: 'Số tiền cần trả',
    choose: 'Thanh toán bằng',
    network: (token, network) => `${token} trên ${network}`,
    chooseHint: 'Chọn mạng mà ví hoặc sàn của bạn gửi đi.',
    speed: (seconds) =>
      seconds < 90
        ? `xác nhận trong khoảng ${seconds} giây`
        : `xác nhận trong khoảng ${Math.round(seconds / 60)} phút`,
    email: 'Địa chỉ email của bạn',
    emailHint: 'Chúng tôi viết thư trước mỗi kỳ hạn. Không có khoản nào tự động bị trừ.',
    emailWrong: 'Hãy viết một địa chỉ email, ví dụ ann@mail.example.',
    optionWrong: 'Chọn cách thanh toán.',
    go: 'Tiếp tục thanh toán',
    goHint: 'Tiếp theo bạn sẽ thấy địa chỉ và số tiền chính xác.',
    noOptions: 'Người bán hiện không thể nhận khoản thanh toán này.',
    resume: 'Bạn đã bắt đầu thanh toán rồi.',
    resumeLink: 'Tiếp tục khoản thanh toán đó',
  },

  pay: {
    status: {
      PENDING: 'Đang chờ bạn thanh toán',
      DETECTED: 'Đã thấy khoản thanh toán',
      CONFIRMED: 'Thanh toán đã được xác nhận',
      UNDERPAID: 'Đã trả thiếu',
      OVERPAID: 'Đã trả, nhiều hơn số cần trả',
      EXPIRED: 'Khoản thanh toán này đã hết hạn',
      CANCELED: 'Khoản thanh toán này đã bị hủy',
      WINDOW_OVER: 'Đã hết thời gian thanh toán',
    },
    say: {
      DETECTED: (network) =>
        `Khoản chuyển của bạn đang trên đường. Nó được tính khi ${network} xác nhận; bạn có thể đóng trang này.`,
      CONFIRMED: (seller) => `Cảm ơn bạn. ${seller} đã được thông báo.`,
      UNDERPAID: (received, due, seller) =>
        `Đã nhận ${received} trên ${due}. Hãy hỏi ${seller} cần làm gì, kèm số thanh toán bên dưới.`,
      OVERPAID: (received, due, seller) =>
        `Đã nhận ${received} trong khi cần ${due}. ${seller} đã được thông báo; hãy hỏi ở đó về phần chênh lệch.`,
      EXPIRED: (seller) =>
        `Đừng gửi gì thêm đến địa chỉ này. Nếu đã trả, hãy hỏi ${seller}, kèm số thanh toán bên dưới.`,
      CANCELED: (seller) =>
        `Đừng gửi gì thêm đến địa chỉ này. Nếu đã trả, hãy hỏi ${seller}, kèm số thanh toán bên dưới.`,
      WINDOW_OVER:
        'Xin đừng gửi gì thêm. Nếu bạn đã trả đúng hạn, nó sẽ hiện ở đây trong giây lát.',
    },
    steps: {
      name: 'Tiến trình',
      PENDING: 'Đang chờ',
      DETECTED: 'Đã thấy',
      CONFIRMED: 'Đã xác nhận',
    },
    confirmations: (count, required) => `${count}/${required} xác nhận`,
    timeLeft: 'Thời gian còn lại',
    minutesLeft: (minutes) => `${minutes} phút`,
    send: 'Gửi đúng',
    exactHint: 'Đến chữ số cuối cùng: nhờ đó khoản của bạn được phân biệt với khoản khác.',
    feeHint: 'Phí của sàn hoặc ví tính riêng: số tiền này phải đến nơi.',
    to: 'Đến địa chỉ này',
    only: (token, network) => `Chỉ gửi ${token} trên ${network}.`,
    onlyHint: 'Token khác hoặc mạng khác có thể bị mất.',
    onlyTest: (network) => `Hãy dùng mạng thử của ${network}; tiền thật gửi vào đây có thể bị mất.`,
    qr: 'Mã QR',
    qrAddress: 'Địa chỉ',
    qrAddressHint: 'Cho mọi ví: chỉ chứa địa chỉ. Bạn tự điền số tiền.',
    qrAddressLabel: (address) => `Mã QR của địa chỉ ${address}`,
    qrUri: 'Liên kết thanh toán',
    qrUriHint: 'Điền sẵn token và số tiền nếu ví hiểu được. Hãy kiểm tra cả hai trước khi gửi.',
    qrUriLabel: 'Mã QR của liên kết thanh toán gồm địa chỉ, token và số tiền',
    openWallet: 'Mở trong ví',
    copyAmount: 'Sao chép số tiền',
    copyAddress: 'Sao chép địa chỉ',
    copy: 'Sao chép',
    copied: 'Đã sao chép',
    selected: 'Đã chọn: hãy sao chép ngay',
    number: 'Số thanh toán',
    network: 'Mạng',
    transaction: 'Giao dịch',
    explorer: 'Xem trong trình khám phá',
    otherWay: 'Thanh toán cách khác',
    again: 'Thử lại',
    cancel: 'Hủy khoản thanh toán này',
    cancelSure: 'Chỉ khi bạn chưa gửi gì.',
    cancelGo: 'Có, hủy',
    continue: (seller) => `Tiếp tục đến ${seller}`,
    offline: 'Mất kết nối. Đang thử lại…',
    simulate: 'Mô phỏng thanh toán',
  },

  renew: {
    title: (seller) => `Gói đăng ký của bạn tại ${seller}`,
    pending: 'Bắt đầu từ lần thanh toán đầu tiên.',
    active: (date) => `Lần thanh toán tiếp theo đến hạn ngày ${date}. Bạn có thể trả sớm.`,
    pastDue: (date) => `Chưa có khoản đến hạn ngày ${date}. Hãy trả ngay để gói được tiếp tục.`,
    expired: (seller) => `Gói đã kết thúc vì chưa trả. Để có lại, hãy đăng ký tại ${seller}.`,
    canceled: (seller) =>
      `Gói đã bị hủy. Không còn khoản nào phải trả. Để có lại, hãy đăng ký tại ${seller}.`,
    go: 'Trả cho kỳ tiếp theo',
    goFirst: 'Trả cho kỳ đầu tiên',
    cancel: 'Hủy gói đăng ký',
    cancelSure: 'Gói kết thúc ngay, và không ai viết thư cho bạn về nó nữa.',
    cancelGo: 'Có, hủy',
  },

  verify: {
    title: 'Xác minh địa chỉ email',
    lead: 'Nhấn nút, và các khóa live của bạn có thể nhận thanh toán.',
    go: 'Xác minh địa chỉ của tôi',
    doneTitle: 'Địa chỉ của bạn đã được xác minh',
    done: 'Các khóa live của bạn giờ có thể nhận thanh toán. Bạn có thể đóng trang này.',
  },

  reset: {
    title: 'Đặt mật khẩu mới',
    lead: 'Mọi phiên đăng nhập của tài khoản sẽ kết thúc.',
    password: 'Mật khẩu mới',
    passwordHint: '12 ký tự trở lên.',
    repeat: 'Nhập lại lần nữa',
    go: 'Đặt mật khẩu',
    weak: 'Dùng 12 ký tự trở lên, và nhiều nhất 1.024 byte.',
    different: 'Hai mật khẩu không giống nhau. Hãy nhập lại.',
    doneTitle: 'Đã đặt mật khẩu',
    done: 'Mọi phiên đăng nhập trước đã kết thúc. Hãy đăng nhập bằng mật khẩu mới.',
  },

  link: {
    title: 'Liên kết này không còn dùng được',
    say: 'Nó đã được dùng hoặc đã hết hạn. Hãy viết địa chỉ của bạn, liên kết mới sẽ được gửi đến.',
    go: 'Gửi cho tôi liên kết mới',
    doneTitle: 'Hãy xem hộp thư của bạn',
    done: 'Nếu một tài khoản với địa chỉ này cần liên kết, nó đang trên đường. Hãy dùng liên kết trong thư mới nhất.',
  },

  problem: {
    not_found: {
      title: 'Không có gì ở đây',
      say: 'Hãy kiểm tra liên kết, hoặc hỏi người đã gửi cho bạn.',
    },
    closed: {
      title: 'Giao dịch mua này đã kết thúc',
      say: 'Nó đã bị đóng hoặc hết hạn. Hãy bắt đầu lại ở trang của người bán.',
    },
    inactive: { title: 'Mặt hàng này không còn bán', say: 'Người bán đã gỡ liên kết này.' },
    seller: {
      title: 'Người bán hiện không thể nhận thanh toán',
      say: 'Chưa thu khoản nào. Hãy hỏi người bán.',
    },
    busy: {
      title: 'Hiện có quá nhiều khoản thanh toán',
      say: 'Chưa thu khoản nào. Hãy đợi một phút rồi thử lại.',
    },
    option: { title: 'Không thể trả bằng cách đó ở đây', say: 'Hãy quay lại và chọn mạng khác.' },
    unavailable: {
      title: 'Chúng tôi sẽ trở lại ngay',
      say: 'Hiện không kết nối được dịch vụ. Khoản đã gửi vẫn an toàn: nó sẽ được tìm thấy. Hãy thử lại sau giây lát.',
    },
    request: { title: 'Không thực hiện được', say: 'Hãy quay lại và thử lại.' },
    internal: {
      title: 'Phía chúng tôi có sự cố',
      say: 'Hãy thử lại. Nếu vẫn lỗi, hãy đưa số này cho người bán:',
    },
    retry: 'Thử lại',
  },
}
