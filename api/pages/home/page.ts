import { html } from '../html.ts'
import { page } from '../page.ts'

/** `{PUBLIC_URL}/`: for whoever looks what answers here. */
export const homePage = page({
  method: 'GET',
  path: '/',
  summary: 'What this server is',
  needsDatabase: false,
  handle: (_, { texts: { home }, base }) => ({
    title: home.title,
    main: html`<section class="card notice">
<h1>${home.title}</h1>
<p>${home.lead}</p>
<p>${home.buyers}</p>
<p>${home.sellers}</p>
<p><a class="button" href="${base}/docs">${home.docs}</a></p>
</section>`,
  }),
})
