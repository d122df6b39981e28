// Helpers of all scripts of a page. All that is shown is set as text, never as HTML.
"use strict";
const read = id => JSON.parse(document.getElementById(id).textContent);
const make = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
