import { en, type Texts } from './en.ts'

/** Portuguese. */
export const pt: Texts = {
  language: 'pt',
  languageName: 'Português',
  languages: 'Idioma',
  direction: 'ltr',

  testMode: 'Modo de teste: aqui não se movimenta dinheiro real.',
  poweredBy: 'Os pagamentos vão diretamente para a carteira do vendedor.',
  usd: en.usd,
  each: {
    DAY: (count) => (count === 1 ? 'todos os dias' : `a cada ${count} dias`),
    WEEK: (count) => (count === 1 ? 'todas as semanas' : `a cada ${count} semanas`),
    MONTH: (count) => (count === 1 ? 'todos os meses' : `a cada ${count} meses`),
    YEAR: (count) => (count === 1 ? 'todos os anos' : `a cada ${count} anos`),
  },
  backToSeller: (seller) => `Voltar para ${seller}`,

  home: {
    title: 'Pagamentos com stablecoins',
    lead: 'Este servidor recebe pagamentos em USDC e USDT para vendedores on-line, diretamente nas carteiras deles.',
    buyers: 'Veio pagar? Abra o link que o vendedor lhe deu.',
    sellers: 'Vende alguma coisa? A referência da API explica como começar.',
    docs: 'Ler a referência da API',
  },

  buy: {
    title: (seller) => `Pagar a ${seller}`,
    due: 'A pagar',
    choose: 'Pagar com',
    network: (token, network) => `${token} em ${network}`,
    chooseHint: 'Escolha a rede a partir da qual a sua carteira ou corretora envia.',
    speed: (seconds) =>
      seconds < 90
        ? `confirmado em cerca de ${seconds} s`
        : `confirmado em cerca de ${Math.round(seconds / 60)} min`,
    email: 'O seu e-mail',
    emailHint: 'Escrevemos antes de cada vencimento. Nada é cobrado automaticamente.',
    emailWrong: 'Escreva um endereço de e-mail, como ann@mail.example.',
    optionWrong: 'Escolha com o que pagar.',
    go: 'Continuar para o pagamento',
    goHint: 'A seguir verá o endereço e o valor exato.',
    noOptions: 'O vendedor não pode receber este pagamento neste momento.',
    resume: 'Você já começou a pagar.',
    resumeLink: 'Continuar esse pagamento',
  },

  pay: {
    status: {
      PENDING: 'Aguardando o seu pagamento',
      DETECTED: 'Pagamento visto',
      CONFIRMED: 'Pagamento confirmado',
      UNDERPAID: 'Foi pago menos do que o devido',
      OVERPAID: 'Pago, com mais do que o devido',
      EXPIRED: 'Este pagamento expirou',
      CANCELED: 'Este pagamento foi cancelado',
      WINDOW_OVER: 'O tempo para pagar terminou',
    },
    say: {
      DETECTED: (network) =>
        `A sua transferência está a caminho. Ela conta assim que ${network} a confirmar; pode fechar esta página.`,
      CONFIRMED: (seller) => `Obrigado. ${seller} já foi avisado.`,
      UNDERPAID: (received, due, seller) =>
        `Chegaram ${received} de ${due}. Pergunte a ${seller} o que fazer, com o número do pagamento abaixo.`,
      OVERPAID: (received, due, seller) =>
        `Chegaram ${received} e eram devidos ${due}. ${seller} já foi avisado; pergunte lá sobre a diferença.`,
      EXPIRED: (seller) =>
        `Não envie mais nada para o endereço. Se pagou, pergunte a ${seller}, com o número do pagamento abaixo.`,
      CANCELED: (seller) =>
        `Não envie mais nada para o endereço. Se pagou, pergunte a ${seller}, com o número do pagamento abaixo.`,
      WINDOW_OVER: 'Por favor, não envie mais nada. Se pagou a tempo, aparecerá aqui em instantes.',
    },
    steps: { name: 'Progresso', PENDING: 'Aguardando', DETECTED: 'Visto', CONFIRMED: 'Confirmado' },
    confirmations: (count, required) => `${count} de ${required} confirmações`,
    timeLeft: 'Tempo restante',
    minutesLeft: (minutes) => `${minutes} min`,
    send: 'Envie exatamente',
    exactHint: 'Até o último algarismo: é assim que o seu pagamento se distingue dos outros.',
    feeHint: 'As taxas de uma corretora ou carteira são à parte: este valor tem de chegar.',
    to: 'Para este endereço',
    only: (token, network) => `Envie apenas ${token} em ${network}.`,
    onlyHint: 'Outro token ou outra rede podem perder-se.',
    onlyTest: (network) =>
      `Use uma rede de teste de ${network}; dinheiro real enviado para aqui pode perder-se.`,
    qr: 'Código QR',
    qrAddress: 'Endereço',
    qrAddressHint: 'Para qualquer carteira: contém só o endereço. Preencha você o valor.',
    qrAddressLabel: (address) => `Código QR do endereço ${address}`,
    qrUri: 'Link de pagamento',
    qrUriHint:
      'Preenche o token e o valor quando a carteira entende. Confira ambos antes de enviar.',
    qrUriLabel: 'Código QR de um link de pagamento com endereço, token e valor',
    openWallet: 'Abrir numa carteira',
    copyAmount: 'Copiar o valor',
    copyAddress: 'Copiar o endereço',
    copy: 'Copiar',
    copied: 'Copiado',
    selected: 'Selecionado: copie agora',
    number: 'Número do pagamento',
    network: 'Rede',
    transaction: 'Transação',
    explorer: 'Ver no explorador',
    otherWay: 'Pagar de outra forma',
    again: 'Tentar novamente',
    cancel: 'Cancelar este pagamento',
    cancelSure: 'Só se ainda não enviou nada.',
    cancelGo: 'Sim, cancelar',
    continue: (seller) => `Continuar para ${seller}`,
    offline: 'Sem ligação. Tentando novamente…',
    simulate: 'Simular o pagamento',
  },

  renew: {
    title: (seller) => `A sua assinatura em ${seller}`,
    pending: 'Começa com o primeiro pagamento.',
    active: (date) => `O próximo pagamento vence em ${date}. Pode pagar antes.`,
    pastDue: (date) =>
      `Falta o pagamento que vencia em ${date}. Pague agora e a assinatura continua.`,
    expired: (seller) =>
      `Terminou sem pagamento. Para tê-la de novo, assine novamente em ${seller}.`,
    canceled: (seller) =>
      `Foi cancelada. Nada mais é devido. Para tê-la de novo, assine novamente em ${seller}.`,
    go: 'Pagar o próximo período',
    goFirst: 'Pagar o primeiro período',
    cancel: 'Cancelar a assinatura',
    cancelSure: 'Termina imediatamente, e ninguém mais lhe escreve por causa dela.',
    cancelGo: 'Sim, cancelar',
  },

  verify: {
    title: 'Verifique o seu e-mail',
    lead: 'Carregue no botão e as suas chaves live podem receber pagamentos.',
    go: 'Verificar o meu endereço',
    doneTitle: 'O seu endereço está verificado',
    done: 'As suas chaves live já podem receber pagamentos. Pode fechar esta página.',
  },

  reset: {
    title: 'Definir uma nova senha',
    lead: 'Com ela terminam todas as sessões da conta.',
    password: 'Nova senha',
    passwordHint: '12 caracteres ou mais.',
    repeat: 'A mesma mais uma vez',
    go: 'Definir a senha',
    weak: 'Use 12 caracteres ou mais, e no máximo 1.024 bytes.',
    different: 'As duas não são iguais. Escreva-as de novo.',
    doneTitle: 'A senha está definida',
    done: 'As sessões anteriores terminaram. Entre com a nova senha.',
  },

  link: {
    title: 'Este link já não funciona',
    say: 'Já foi usado ou expirou. Escreva o seu endereço e enviamos um novo.',
    go: 'Enviar-me um novo link',
    doneTitle: 'Veja a sua caixa de correio',
    done: 'Se uma conta com este endereço precisa de um link, ele está a caminho. Use o do e-mail mais recente.',
  },

  problem: {
    not_found: {
      title: 'Não há nada aqui',
      say: 'Confira o link ou pergunte a quem lho deu.',
    },
    closed: {
      title: 'Esta compra terminou',
      say: 'Foi fechada ou expirou. Comece de novo na loja do vendedor.',
    },
    inactive: { title: 'Isto já não é vendido', say: 'O vendedor retirou este link.' },
    seller: {
      title: 'O vendedor não pode receber pagamentos agora',
      say: 'Nada foi cobrado. Pergunte ao vendedor.',
    },
    busy: {
      title: 'Pagamentos demais neste momento',
      say: 'Nada foi cobrado. Espere um minuto e tente novamente.',
    },
    option: { title: 'Não é possível pagar com isso aqui', say: 'Volte e escolha outra rede.' },
    unavailable: {
      title: 'Voltamos já',
      say: 'O serviço não está disponível neste momento. Um pagamento enviado está seguro: será encontrado. Tente novamente daqui a pouco.',
    },
    request: { title: 'Isso não funcionou', say: 'Volte e tente novamente.' },
    internal: {
      title: 'Algo falhou do nosso lado',
      say: 'Tente novamente. Se continuar, dê este número ao vendedor:',
    },
    retry: 'Tentar novamente',
  },
}
