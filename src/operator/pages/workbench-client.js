/*
 * Runs in the browser of a visitor, and is served as it stands: it sends the form of the workbench while one types and puts the
 * parts of the answer in their places, carries an example in the fragment of a link, and searches the reference. The pages work
 * without it.
 */

const TYPING_MS = 200

const form = document.querySelector('form')
if (form?.id === 'workbench') workbench(form)

const find = document.getElementById('find')
if (find) search(find)

/** @param {HTMLFormElement} form */
function workbench(form) {
  let asked = 0
  /** @type {number | undefined} */
  let timer

  /**
   * With another action, the reply is that of its example.
   * @param {'answer' | 'back'} back
   */
  async function translate(back) {
    asked += 1
    const mine = asked
    const given = [...new FormData(form)].map(([name, value]) => [name, String(value)])
    const reply = await fetch('/', {
      method: 'POST',
      headers: { accept: 'text/html' },
      body: new URLSearchParams(given),
    })
    const page = new DOMParser().parseFromString(await reply.text(), 'text/html')
    if (mine !== asked) return
    for (const id of ['version2', 'account', back, 'code']) {
      const now = document.getElementById(id)
      const next = page.getElementById(id)
      if (now && next) now.replaceWith(next)
      else now?.replaceChildren()
    }
  }

  form.addEventListener('input', ({ target }) => {
    const isOther = target === field('action')
    if (isOther) set('reply', '')
    clearTimeout(timer)
    timer = window.setTimeout(translate, TYPING_MS, isOther ? 'back' : 'answer')
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    translate('answer')
  })

  const copy = document.createElement('button')
  copy.type = 'button'
  copy.className = 'plain'
  copy.textContent = 'Copy a link to this example'
  copy.addEventListener('click', async () => {
    const example = JSON.stringify({ body: withoutSecrets(field('body')?.value ?? ''), action: field('action')?.value })
    location.hash = `try=${encodeURIComponent(example)}`
    try {
      await navigator.clipboard.writeText(location.href)
      copy.textContent = 'Copied'
    } catch {
      copy.textContent = 'The address bar has it'
    }
  })
  document.getElementById('link')?.append(copy)

  const [, linked] = location.hash.split('#try=')
  if (linked === undefined) return
  try {
    const { body, action = '' } = JSON.parse(decodeURIComponent(linked))
    set('body', String(body))
    set('action', String(action))
    set('reply', '')
    translate('back')
  } catch {
    // The link was cut off: the page shows its own example.
  }

  /** @param {string} name */
  function field(name) {
    const found = form.elements.namedItem(name)
    return found instanceof HTMLTextAreaElement || found instanceof HTMLSelectElement ? found : undefined
  }

  /**
   * @param {string} name
   * @param {string} value
   */
  function set(name, value) {
    const found = field(name)
    if (found) found.value = value
  }
}

/**
 * Hides the credentials of a curl line or a raw request: a link is shared.
 * @param {string} text
 */
function withoutSecrets(text) {
  const word = String.raw`(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+`
  const option = String.raw`(\s)(?:-[a-zA-Z]*[uU]\s*|--(?:proxy-)?user[\s=]+|--oauth2-bearer[\s=]+)`
  return text
    .replace(/^\s*curl\s[\s\S]*$/, (line) => line.replaceAll(new RegExp(option + word, 'g'), '$1-u ***'))
    .replaceAll(/((?:proxy-)?authorization["']?\s*:\s*)[^'"\r\n]+/gi, '$1***')
    .replaceAll(/:\/\/[^\s/@'"]+@/g, '://')
}

/** @param {HTMLElement} place */
function search(place) {
  const label = document.createElement('label')
  const input = document.createElement('input')
  input.type = 'search'
  label.append('Search ', input)
  place.append(label)
  input.addEventListener('input', () => {
    const word = input.value.toLowerCase()
    for (const row of document.querySelectorAll('tbody tr')) {
      if (row instanceof HTMLElement) row.hidden = !row.textContent.toLowerCase().includes(word)
    }
  })
}
