/*
 * Runs in the browser of a visitor, and is served as it stands: it sends the form of the workbench while one types and puts the
 * parts of the answer in their places, lights up a field together with its place, and searches the reference. The pages work
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

  async function translate() {
    asked += 1
    const mine = asked
    const given = [...new FormData(form)].map(([name, value]) => [name, String(value)])
    const sent = { method: 'POST', headers: { accept: 'text/html' }, body: new URLSearchParams(given) }
    const text = await fetch('/', sent)
      .then((reply) => reply.text())
      .catch(() => '')
    const page = new DOMParser().parseFromString(text, 'text/html')
    if (mine !== asked) return
    if (!page.getElementById('workbench')) {
      showFailure(page.querySelector('main p')?.textContent ?? 'The gateway does not answer.')
      return
    }
    // The reply that is being edited stays, unless it is one to another action.
    const [before, after = ''] = [document, page].map((one) => one.getElementById('back')?.dataset['action'])
    const back = before === after && before !== '' ? 'answer' : 'back'
    for (const id of ['examples', 'verdict', 'marks', 'version2', 'account', back, 'code']) {
      const next = page.getElementById(id)
      if (next) document.getElementById(id)?.replaceChildren(...next.childNodes)
    }
    document.getElementById('back')?.setAttribute('data-action', after)
  }

  form.addEventListener('input', ({ target }) => {
    // The answer to an older request does not fit any more.
    asked += 1
    if (target instanceof HTMLTextAreaElement && target.name === 'body')
      document.getElementById('marks')?.replaceChildren(`${target.value}\n`)
    clearTimeout(timer)
    timer = window.setTimeout(translate, TYPING_MS)
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    translate()
  })
  lightUp(form)
}

/**
 * Shows why a request was not translated, in place of the translation of the one before it.
 * @param {string} why
 */
function showFailure(why) {
  const notice = document.createElement('p')
  notice.className = 'notice bad'
  notice.textContent = `Not translated. ${why}`
  for (const id of ['version2', 'account', 'answer', 'code']) document.getElementById(id)?.replaceChildren()
  document.getElementById('verdict')?.replaceChildren(notice)
}

/**
 * Lights up all that has the number at which one points, or that has the focus.
 * @param {HTMLElement} within
 */
function lightUp(within) {
  /** @param {Element | null | undefined} at */
  const light = (at) => {
    const number = at?.closest('[data-n]') ?? at?.closest('tr')?.querySelector('[data-n]')
    const numbers = number?.getAttribute('data-n')?.split(' ') ?? []
    for (const lit of within.querySelectorAll('.lit')) lit.classList.remove('lit')
    for (const tied of within.querySelectorAll(numbers.map((one) => `[data-n~="${one}"]`).join() || 'no-number')) {
      tied.classList.add('lit')
      const pane = tied.closest('.pane')
      if (!pane || tied.contains(number ?? null)) continue
      const [outer, inner] = [pane.getBoundingClientRect(), tied.getBoundingClientRect()]
      if (inner.top < outer.top || inner.bottom > outer.bottom)
        pane.scrollTop += inner.top - outer.top - outer.height / 2
    }
  }
  within.addEventListener('pointermove', ({ target, clientX, clientY }) => {
    const isEditor = target instanceof HTMLTextAreaElement && target.name === 'body'
    // The marks lie under the text.
    const under = isEditor
      ? document.elementsFromPoint(clientX, clientY).find((one) => one.closest('#marks [data-n]'))
      : target
    light(under instanceof Element ? under : undefined)
  })
  within.addEventListener('focusin', ({ target }) => light(target instanceof Element ? target : undefined))
}

/** @param {HTMLElement} place */
function search(place) {
  const label = document.createElement('label')
  const input = document.createElement('input')
  input.type = 'search'
  label.append('Search ', input)
  place.append(label)
  const none = document.getElementById('none')
  input.addEventListener('input', () => {
    const word = input.value.trim().toLowerCase()
    let isFound = false
    for (const entry of document.querySelectorAll('.entry')) {
      /** @type {NodeListOf<HTMLElement>} */
      const parts = entry.querySelectorAll('tbody tr, .without, .facts > div')
      for (const part of parts) part.hidden = !part.textContent.toLowerCase().includes(word)
      const isEmpty = [...parts].every(({ hidden }) => hidden)
      isFound ||= !isEmpty
      entry.toggleAttribute('hidden', isEmpty)
      entry.querySelector('.scroll')?.toggleAttribute('hidden', !entry.querySelector('tbody tr:not([hidden])'))
      document.querySelector(`.rail a[href="#${entry.id}"]`)?.parentElement?.toggleAttribute('hidden', isEmpty)
    }
    none?.replaceChildren(isFound ? '' : 'No fields match.')
  })
}
