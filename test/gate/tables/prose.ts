/** A megabyte of ordinary text in many scripts. Written for this project. */

const sentences: [string, string][] = [
  ["English", "The quick brown fox jumps over the lazy dog, and then some more words follow.\n"],
  ["Chinese", "这是一个很长的中文文本，里面有标点符号。我们要看看它的速度如何！\n"],
  ["Japanese", "これは長い文章です。カタカナと漢字も、「かぎ括弧」もあります。\n"],
  ["Korean", "이것은 아주 긴 글입니다. 얼마나 빨리 읽는지 봅시다.\n"],
  ["Arabic", "هذا نص عربي طويل جدا، نريد أن نرى كم من الوقت يستغرق.\n"],
  ["Hebrew", "זהו טקסט ארוך מאוד, ואנחנו רוצים לראות כמה זמן זה לוקח.\n"],
  ["Hindi", "यह एक बहुत लंबा पाठ है, और हम देखना चाहते हैं कि इसमें कितना समय लगता है।\n"],
  ["Thai", "นี่คือข้อความที่ยาวมาก เราอยากรู้ว่ามันใช้เวลานานเท่าไร\n"],
  ["Russian", "Съешь же ещё этих мягких французских булок, да выпей чаю.\n"],
  ["Greek", "Αυτό είναι ένα πολύ μεγάλο κείμενο, και θέλουμε να δούμε πόσο διαρκεί.\n"],
  ["Vietnamese", "Đây là một văn bản rất dài, và chúng tôi muốn xem nó mất bao lâu.\n".normalize("NFD")],
  ["emoji", "Great work 🎉👩‍💻, see you tomorrow 🚀!\n"],
];

/** Just below 1 MiB as arguments of a call. */
const bytes = 1_030_000;

export function prose(): { name: string; text: string }[] {
  return sentences.map(([name, sentence]) => {
    const size = Buffer.byteLength(JSON.stringify(sentence)) - 2;
    return { name, text: sentence.repeat(Math.floor(bytes / size)) };
  });
}
