/**
 * Long conversations with questions whose answering turns are known: read from a LoCoMo file, or generated.
 *
 * The generated set has what makes retrieval hard: questions with other word forms than their answers, subjects named only in
 * the turn before the answer, dates, names, and many similar turns. It is the same on every run.
 */

export interface Conversation {
  id: string;
  turns: { id: string; file: string; time: string; speaker: string; text: string }[];
  questions: { text: string; evidence: string[] }[];
}

interface LocomoTurn {
  speaker: string;
  dia_id: string;
  text?: string;
  blip_caption?: string;
}

interface LocomoSample {
  sample_id?: string;
  conversation: Record<string, unknown>;
  qa: { question: string; evidence?: string[] }[];
}

export function readLocomo(samples: LocomoSample[]): Conversation[] {
  return samples.map(({ sample_id: sampleId, conversation, qa }, position) => {
    const turns: Conversation["turns"] = [];
    for (const [key, session] of Object.entries(conversation)) {
      if (!Array.isArray(session)) continue;
      const { day, minutes } = sessionTime(String(conversation[`${key}_date_time`] ?? ""));
      for (const [index, turn] of (session as LocomoTurn[]).entries()) {
        const at = Math.min(minutes + index, 24 * 60 - 1);
        const time = `${twoDigits(Math.floor(at / 60))}:${twoDigits(at % 60)}`;
        const caption = turn.blip_caption === undefined ? "" : ` (shares ${turn.blip_caption})`;
        turns.push({
          id: turn.dia_id,
          file: `${day}.md`,
          time,
          speaker: turn.speaker,
          text: `${turn.text ?? ""}${caption}`,
        });
      }
    }
    const known = new Set(turns.map((turn) => turn.id));
    const questions = qa.flatMap(({ question, evidence = [] }) => {
      const there = evidence.filter((id) => known.has(id));
      return there.length === 0 ? [] : [{ text: question, evidence: there }];
    });
    return { id: sampleId ?? `sample ${position}`, turns, questions };
  });
}

const months = ["January", "February", "March", "April", "May", "June"].concat([
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
]);

/** `1:56 pm on 8 May, 2023`. */
function sessionTime(text: string): { day: string; minutes: number } {
  const found = /(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)/.exec(text);
  if (found === null) throw new Error(`a session has an unreadable time: "${text}"`);
  const [, hour, minute, half, day, month, year] = found;
  const hours = (Number(hour) % 12) + (half === "pm" ? 12 : 0);
  const number = twoDigits(months.indexOf(month ?? "") + 1);
  return { day: `${year}-${number}-${twoDigits(Number(day))}`, minutes: hours * 60 + Number(minute) };
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

const people = ["Ann", "Bilal", "Chen", "Dora", "Emre", "Farah", "Goran", "Hana"];
const doings = [
  ["adopt a rescue dog", "adopted", "dog", "from the shelter on Mill Road"],
  ["paint the kitchen", "painted", "kitchen", "in a warm yellow"],
  ["run the marathon", "ran", "marathon", "in four hours and ten minutes"],
  ["buy a sailing boat", "bought", "boat", "with money from grandmother"],
  ["write a poem", "wrote", "poem", "about the old harbour"],
  ["teach a pottery class", "taught", "pottery", "at the community centre"],
  ["break the window", "broke", "window", "with a football"],
  ["move to the seaside", "moved", "seaside", "because of the air"],
  ["repair the bicycle", "repaired", "bicycle", "with parts from a friend"],
  ["sell the old piano", "sold", "piano", "to a music school"],
] as const;
const smallTalk = [
  "How has your week been?",
  "I'm so tired, work was busy.",
  "That sounds lovely!",
  "Really? Tell me more.",
  "We should meet soon.",
  "The weather turned cold again.",
  "I had pasta for dinner.",
  "My sister called, she sends her love.",
  "Wow, that's great news!",
  "Did you watch the match?",
  "I need a new phone.",
  "The train was late again.",
];

export function syntheticConversations(): Conversation[] {
  const next = randomNumbers(20_261_121);
  const pick = <T>(values: readonly T[]) => values[Math.floor(next() * values.length)] as T;
  return Array.from({ length: 6 }, (_, number) => {
    const [one, other] = [pick(people.slice(0, 4)), pick(people.slice(4))];
    const conversation: Conversation = { id: `synthetic ${number}`, turns: [], questions: [] };
    for (let session = 0; session < 30; session++) {
      const day = new Date(Date.UTC(2023, 0, 5 + session * 11)).toISOString().slice(0, 10);
      const subjects = Array.from({ length: 4 }, () => pick(doings));
      let minute = 0;
      const say = (speaker: string, text: string): string => {
        const id = `D${session + 1}:${++minute}`;
        conversation.turns.push({ id, file: `${day}.md`, time: `18:${twoDigits(minute)}`, speaker, text });
        return id;
      };
      for (const [plan, past, thing, detail] of subjects) {
        for (let index = 0; index < 4; index++) say(index % 2 === 0 ? one : other, pick(smallTalk));
        const month = months[Number(day.slice(5, 7)) - 1];
        if (next() < 0.5) {
          const id = say(one, `I ${past} it last weekend, the ${thing}, ${detail}. ${pick(smallTalk)}`);
          conversation.questions.push({ text: `When did ${one} ${plan}, in ${month} 2023?`, evidence: [id] });
        } else {
          say(other, `Did you ${plan} in the end? ${pick(smallTalk)}`);
          const id = say(one, `Yes, finally, ${detail}! ${pick(smallTalk)}`);
          conversation.questions.push({ text: `How did ${one} ${plan} in ${month} 2023?`, evidence: [id] });
        }
      }
    }
    return conversation;
  });
}

/** Mulberry32: a small deterministic generator. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
