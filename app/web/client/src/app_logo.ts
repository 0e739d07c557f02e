// The sign of the project.

/** The sign of the project: a tape with its nodes. */
export function logo(): SVGSVGElement {
  const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', 'logo');
  svg.setAttribute('aria-hidden', 'true');
  for (const [tag, attributes] of [
    ['path', { d: 'M4 12h16', class: 'logo-line' }], ['path', { d: 'M12 12c0-5 3-7 7-7', class: 'logo-line back' }],
    ['circle', { cx: '4.5', cy: '12', r: '2.6' }], ['circle', { cx: '12', cy: '12', r: '2.6' }], ['circle', { cx: '19.5', cy: '12', r: '2.6', class: 'warm' }],
  ] as const) {
    const part = document.createElementNS(ns, tag);
    for (const [k, v] of Object.entries(attributes)) part.setAttribute(k, v);
    svg.append(part);
  }
  return svg;
}
