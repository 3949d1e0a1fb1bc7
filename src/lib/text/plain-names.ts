/**
 * Whether names say too little to tell anybody what to do: at most three together, each of one short word, perhaps with a
 * number and the ending of an ordinary file. Whoever chose them could not put an instruction into them.
 */
const maxNames = 3;
const maxLetters = 16;
const endings = "md|txt|csv|json|xml|ya?ml|html?|css|[cm]?[jt]sx?|py|log|pdf|png|jpe?g|gif|svg|zip|docx|xlsx|pptx";
const plainName = new RegExp(`^\\.?([A-Za-z]{1,8})\\d{0,2}(?:\\.(?:${endings}))?$`);

export function areFewPlainNames(names: readonly string[]): boolean {
  const words = names.map((name) => plainName.exec(name)?.[1]);
  const letters = words.reduce((sum, word = "") => sum + word.length, 0);
  return names.length <= maxNames && !words.includes(undefined) && letters <= maxLetters;
}
