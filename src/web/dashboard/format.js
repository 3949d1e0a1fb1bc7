/** Times, durations and amounts as people read them. */

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const dayClock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const wholeNumber = new Intl.NumberFormat(undefined);

export function duration(from, to) {
  const seconds = Math.max(0, (to - from) / 1000);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  return seconds < 129_600 ? `${(seconds / 3_600).toFixed(1)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** Without tenths, so that a counting time does not jump. */
export function elapsed(from, to = Date.now()) {
  const seconds = Math.max(0, Math.floor((to - from) / 1000));
  return seconds < 90 ? `${seconds} s` : duration(from, to);
}

export function moment(at) {
  const isToday = new Date(at).toDateString() === new Date().toDateString();
  return (isToday ? clock : dayClock).format(at);
}

export function count(number) {
  return wholeNumber.format(number);
}

export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const [amount, unit] =
    bytes < 1024 ** 2
      ? [bytes / 1024, "KiB"]
      : bytes < 1024 ** 3
        ? [bytes / 1024 ** 2, "MiB"]
        : [bytes / 1024 ** 3, "GiB"];
  return `${amount.toFixed(1)} ${unit}`;
}
