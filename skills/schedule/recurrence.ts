/** Converts recurrences in words to cron expressions: `every weekday at 9:30` is `30 9 * * 1-5`. */

const days: Readonly<Record<string, string>> = {
  ...{ sunday: "0", monday: "1", tuesday: "2", wednesday: "3", thursday: "4", friday: "5", saturday: "6" },
  ...{ day: "*", weekday: "1-5", workday: "1-5", weekend: "0,6" },
};

export function cronOf(words: string): string | undefined {
  const text = words.trim().toLowerCase().replace(/\s+/g, " ");
  return everySoOften(text) ?? onDays(text) ?? onDayOfMonth(text);
}

function everySoOften(text: string): string | undefined {
  const [, count = "1", unit] = /^every (?:(\d{1,2}) )?(minute|hour)s?$/.exec(text) ?? [];
  const step = Number(count);
  // Refuse a step that does not divide the hour or the day, because the intervals would be uneven.
  if (unit === "minute") return step >= 1 && 60 % step === 0 ? `*/${step} * * * *` : undefined;
  if (unit === "hour") return step >= 1 && 24 % step === 0 ? `0 */${step} * * *` : undefined;
  return undefined;
}

function onDays(text: string): string | undefined {
  const normal = text.replace(/^daily\b/, "every day").replace(/^weekly on\b/, "every");
  const [, names, time] = /^(?:(?:every|each|on) )?([a-z, ]+?)(?: at (.+))?$/.exec(normal) ?? [];
  if (names === undefined) return undefined;
  const fields = names.split(/,? and |, ?/).map((name) => days[name.replace(/s$/, "")]);
  const clock = clockOf(time ?? "9:00");
  // "monday" and "on monday" mean a single day, not every Monday.
  const isOnce = !/^(?:every|each) /.test(normal) && !/s(?:,| |$)/.test(names);
  if (clock === undefined || isOnce || fields.some((field) => field === undefined)) return undefined;
  const isDaily = fields.includes("*");
  return `${clock.minute} ${clock.hour} * * ${isDaily ? "*" : fields.join(",")}`;
}

function onDayOfMonth(text: string): string | undefined {
  const [, day, time] =
    /^(?:every month|monthly) on the (\d{1,2})(?:st|nd|rd|th)?(?: at (.+))?$/.exec(text) ??
    /^on the (\d{1,2})(?:st|nd|rd|th)? of every month(?: at (.+))?$/.exec(text) ??
    [];
  const clock = clockOf(time ?? "9:00");
  if (day === undefined || clock === undefined || Number(day) < 1 || Number(day) > 31) return undefined;
  return `${clock.minute} ${clock.hour} ${Number(day)} * *`;
}

function clockOf(text: string): { hour: number; minute: number } | undefined {
  if (text === "noon") return { hour: 12, minute: 0 };
  if (text === "midnight") return { hour: 0, minute: 0 };
  const [, hourText, minuteText = "0", half] =
    /^(\d{1,2})(?:[:.](\d\d))?(?: ?(am|pm)| ?o'clock| ?h)?$/.exec(text) ?? [];
  if (hourText === undefined) return undefined;
  const [said, minute] = [Number(hourText), Number(minuteText)];
  const hour = half === "pm" && said < 12 ? said + 12 : half === "am" && said === 12 ? 0 : said;
  const isTime = hour <= 23 && minute <= 59 && (half === undefined || (said >= 1 && said <= 12));
  return isTime ? { hour, minute } : undefined;
}
