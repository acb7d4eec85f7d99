import { en, type Texts } from './en.ts'

/** Spanish. */
export const es: Texts = {
  language: 'es',
  languageName: 'Español',
  languages: 'Idioma',
  direction: 'ltr',

  testMode: 'Modo de prueba: aquí no se mueve dinero real.',
  poweredBy: 'Los pagos van directamente a la cartera del vendedor.',
  usd: en.usd,
  each: {
    DAY: (count) => (count === 1 ? 'cada día' : `cada ${count} días`),
    WEEK: (count) => (count === 1 ? 'cada semana' : `cada ${count} semanas`),
    MONTH: (count) => (count === 1 ? 'cada mes' : `cada ${count} meses`),
    YEAR: (count) => (count === 1 ? 'cada año' : `cada ${count} años`),
  },
  backToSeller: (seller) => `Volver a ${seller}`,

  home: {
    title: 'Pagos con stablecoins',
    lead: 'Este servidor recibe pagos en USDC y USDT para vendedores en línea, directamente en sus propias carteras.',
    buyers: '¿Viene a pagar? Abra el enlace que le dio el vendedor.',
    sellers: '¿Vende algo? La referencia de la API explica cómo empezar.',
    docs: 'Leer la referencia de la API',
  },

  buy: {
    title: (seller) => `Pagar a ${seller}`,
    due: 'A pagar',
    choose: 'Pagar con',
    network: (token, network) => `${token} en ${network}`,
    chooseHint: 'Elija la red desde la que envía su cartera o casa de cambio.',
    speed: (seconds) =>
      seconds < 90
        ? `confirmado en unos ${seconds} s`
        : `confirmado en unos ${Math.round(seconds / 60)} min`,
    email: 'Su correo electrónico',
    emailHint: 'Le escribimos antes de cada vencimiento. Nunca se cobra nada de forma automática.',
    emailWrong: 'Escriba una dirección de correo, como ann@mail.example.',
    optionWrong: 'Elija con qué pagar.',
    go: 'Continuar al pago',
    goHint: 'A continuación verá la dirección y el importe exacto.',
    noOptions: 'El vendedor no puede recibir este pago en este momento.',
    resume: 'Ya ha empezado a pagar.',
    resumeLink: 'Continuar con ese pago',
  },

  pay: {
    status: {
      PENDING: 'Esperando su pago',
      DETECTED: 'Pago visto',
      CONFIRMED: 'Pago confirmado',
      UNDERPAID: 'Se pagó de menos',
      OVERPAID: 'Pagado, con más de lo debido',
      EXPIRED: 'Este pago ha caducado',
      CANCELED: 'Este pago fue cancelado',
      WINDOW_OVER: 'El tiempo para pagar ha terminado',
    },
    say: {
      DETECTED: (network) =>
        `Su transferencia está en camino. Cuenta en cuanto ${network} la confirme; puede cerrar esta página.`,
      CONFIRMED: (seller) => `Gracias. Se ha avisado a ${seller}.`,
      UNDERPAID: (received, due, seller) =>
        `Llegaron ${received} de ${due}. Pregunte a ${seller} qué hacer, con el número de pago de abajo.`,
      OVERPAID: (received, due, seller) =>
        `Llegaron ${received} y se debían ${due}. Se ha avisado a ${seller}; pregunte allí por la diferencia.`,
      EXPIRED: (seller) =>
        `No envíe nada más a su dirección. Si ha pagado, pregunte a ${seller}, con el número de pago de abajo.`,
      CANCELED: (seller) =>
        `No envíe nada más a su dirección. Si ha pagado, pregunte a ${seller}, con el número de pago de abajo.`,
      WINDOW_OVER: 'Por favor, no envíe nada más. Si pagó a tiempo, aparecerá aquí en un momento.',
    },
    steps: { name: 'Progreso', PENDING: 'En espera', DETECTED: 'Visto', CONFIRMED: 'Confirmado' },
    confirmations: (count, required) => `${count} de ${required} confirmaciones`,
    timeLeft: 'Tiempo restante',
    minutesLeft: (minutes) => `${minutes} min`,
    send: 'Envíe exactamente',
    exactHint: 'Hasta la última cifra: así se distingue su pago de los demás.',
    feeHint: 'Las comisiones de una casa de cambio o cartera van aparte: debe llegar este importe.',
    to: 'A esta dirección',
    only: (token, network) => `Envíe solo ${token} en ${network}.`,
    onlyHint: 'Otro token u otra red pueden perderse.',
    onlyTest: (network) =>
      `Use una red de prueba de ${network}; el dinero real enviado aquí puede perderse.`,
    qr: 'Código QR',
    qrAddress: 'Dirección',
    qrAddressHint: 'Para cualquier cartera: contiene solo la dirección. Escriba usted el importe.',
    qrAddressLabel: (address) => `Código QR de la dirección ${address}`,
    qrUri: 'Enlace de pago',
    qrUriHint:
      'Rellena el token y el importe si la cartera lo entiende. Compruebe ambos antes de enviar.',
    qrUriLabel: 'Código QR de un enlace de pago con dirección, token e importe',
    openWallet: 'Abrir en una cartera',
    copyAmount: 'Copiar el importe',
    copyAddress: 'Copiar la dirección',
    copy: 'Copiar',
    copied: 'Copiado',
    selected: 'Seleccionado: cópielo ahora',
    number: 'Número de pago',
    network: 'Red',
    transaction: 'Transacción',
    explorer: 'Verla en el explorador',
    otherWay: 'Pagar de otra forma',
    again: 'Intentar de nuevo',
    cancel: 'Cancelar este pago',
    cancelSure: 'Solo si todavía no ha enviado nada.',
    cancelGo: 'Sí, cancelarlo',
    continue: (seller) => `Continuar a ${seller}`,
    offline: 'Sin conexión. Intentando de nuevo…',
    simulate: 'Simular el pago',
  },

  renew: {
    title: (seller) => `Su suscripción a ${seller}`,
    pending: 'Empieza con el primer pago.',
    active: (date) => `El próximo pago vence el ${date}. Puede pagarlo antes.`,
    pastDue: (date) =>
      `Falta el pago que vencía el ${date}. Páguelo ahora y la suscripción continúa.`,
    expired: (seller) =>
      `Terminó sin pagarse. Para tenerla otra vez, suscríbase de nuevo en ${seller}.`,
    canceled: (seller) =>
      `Fue cancelada. Ya no se debe nada. Para tenerla otra vez, suscríbase de nuevo en ${seller}.`,
    go: 'Pagar el próximo período',
    goFirst: 'Pagar el primer período',
    cancel: 'Cancelar la suscripción',
    cancelSure: 'Termina de inmediato y nadie le escribirá más por ella.',
    cancelGo: 'Sí, cancelarla',
  },

  verify: {
    title: 'Verifique su correo electrónico',
    lead: 'Pulse el botón y sus claves live podrán recibir pagos.',
    go: 'Verificar mi dirección',
    doneTitle: 'Su dirección está verificada',
    done: 'Sus claves live ya pueden recibir pagos. Puede cerrar esta página.',
  },

  reset: {
    title: 'Establecer una contraseña nueva',
    lead: 'Con ella terminan todas las sesiones de la cuenta.',
    password: 'Contraseña nueva',
    passwordHint: '12 caracteres o más.',
    repeat: 'La misma otra vez',
    go: 'Establecer la contraseña',
    weak: 'Use 12 caracteres o más, y como máximo 1.024 bytes.',
    different: 'No son iguales. Escríbalas de nuevo.',
    doneTitle: 'La contraseña está establecida',
    done: 'Las sesiones anteriores han terminado. Inicie sesión con la contraseña nueva.',
  },

  link: {
    title: 'Este enlace ya no funciona',
    say: 'Ya se usó o ha caducado. Escriba su dirección y le enviaremos uno nuevo.',
    go: 'Enviarme un enlace nuevo',
    doneTitle: 'Mire su buzón',
    done: 'Si una cuenta con esta dirección necesita un enlace, está en camino. Use el del correo más reciente.',
  },

  problem: {
    not_found: {
      title: 'Aquí no hay nada',
      say: 'Compruebe el enlace o pregunte a quien se lo dio.',
    },
    closed: {
      title: 'Esta compra ha terminado',
      say: 'Se cerró o ha caducado. Empiece de nuevo en la tienda del vendedor.',
    },
    inactive: { title: 'Esto ya no se vende', say: 'El vendedor ha retirado este enlace.' },
    seller: {
      title: 'El vendedor no puede recibir pagos ahora',
      say: 'No se ha cobrado nada. Pregunte al vendedor.',
    },
    busy: {
      title: 'Demasiados pagos en este momento',
      say: 'No se ha cobrado nada. Espere un minuto e inténtelo de nuevo.',
    },
    option: { title: 'Aquí no se puede pagar con eso', say: 'Vuelva atrás y elija otra red.' },
    unavailable: {
      title: 'Volvemos enseguida',
      say: 'El servicio no está disponible en este momento. Un pago enviado está a salvo: se encontrará. Inténtelo de nuevo en un momento.',
    },
    request: { title: 'Eso no funcionó', say: 'Vuelva atrás e inténtelo de nuevo.' },
    internal: {
      title: 'Algo falló de nuestro lado',
      say: 'Inténtelo de nuevo. Si persiste, dé al vendedor este número:',
    },
    retry: 'Intentar de nuevo',
  },
}
