/** Said on Saturday, 21 November 2026, 15:00 in Berlin. */
export const timeCases: [words: string, wanted: string][] = [
  ["in 20 minutes", "2026-11-21T14:20:00Z"],
  ["in 2 days", "2026-11-23T14:00:00Z"],
  ["tomorrow", "2026-11-22T14:00:00Z"],
  ["tomorrow at 9", "2026-11-22T08:00:00Z"],
  ["tomorrow noon", "2026-11-22T11:00:00Z"],
  ["tonight", "2026-11-21T21:00:00Z"],
  ["18:30", "2026-11-21T17:30:00Z"],
  ["at 9am", "2026-11-22T08:00:00Z"],
  ["monday", "2026-11-23T08:00:00Z"],
  ["next monday at 10am", "2026-11-23T09:00:00Z"],
  ["24 December at 18:00", "2026-12-24T17:00:00Z"],
  ["2027-03-27 10:00", "2027-03-27T09:00:00Z"],
  // The clocks have changed by then.
  ["2027-03-28 10:00", "2027-03-28T08:00:00Z"],
  ["2027-07-01T10:00:00", "2027-07-01T08:00:00Z"],
  ["2027-07-01T10:00:00Z", "2027-07-01T10:00:00Z"],
  ["2027-07-01T10:00:00-05:00", "2027-07-01T15:00:00Z"],
  ["tomorrow at 9 am UTC", "2026-11-22T09:00:00Z"],
];

export const recurrenceCases: [words: string, expression: string][] = [
  ["every weekday at 9:30", "30 9 * * 1-5"],
  ["Every Monday and Thursday at 10am", "0 10 * * 1,4"],
  ["mondays at 9", "0 9 * * 1"],
  ["tuesdays and thursdays at 5pm", "0 17 * * 2,4"],
  ["on weekends", "0 9 * * 0,6"],
  ["every day at noon", "0 12 * * *"],
  ["daily at 8", "0 8 * * *"],
  ["every 2 hours", "0 */2 * * *"],
  ["every 15 minutes", "*/15 * * * *"],
  ["every month on the 1st at 9", "0 9 1 * *"],
  ["0 9 * * 1", "0 9 * * 1"],
];

/** Said somewhere, at some time: what its clock shows counts, not that of the machine. */
export const placedCases: [words: string, timeZone: string, saidAt: string, wanted: string][] = [
  // A Monday, half past two in Berlin: the day is not over, and later on it is.
  ["monday at 15:00", "Europe/Berlin", "2026-01-05T13:30:00Z", "2026-01-05T14:00:00Z"],
  ["monday at 14:00", "Europe/Berlin", "2026-01-05T13:30:00Z", "2026-01-12T13:00:00Z"],
  ["5 January at 15:00", "Europe/Berlin", "2026-01-05T13:30:00Z", "2026-01-05T14:00:00Z"],
  ["5 January at 14:00", "Europe/Berlin", "2026-01-05T13:30:00Z", "2027-01-05T13:00:00Z"],
  // Ten in the morning in Tokyo, and two in the afternoon in New York.
  ["monday at 18:00", "Asia/Tokyo", "2026-01-05T01:00:00Z", "2026-01-05T09:00:00Z"],
  ["monday at 11:00", "America/New_York", "2026-01-05T19:00:00Z", "2026-01-12T16:00:00Z"],
  ["at 15:00", "America/New_York", "2026-01-05T19:00:00Z", "2026-01-05T20:00:00Z"],
  ["at 9", "Pacific/Kiritimati", "2026-01-07T17:30:00Z", "2026-01-07T19:00:00Z"],
  ["29 February at 9", "Europe/Berlin", "2028-02-29T13:30:00Z", "2032-02-29T08:00:00Z"],
  // Over noon a duration is no day without a time.
  ["tomorrow", "Europe/Berlin", "2026-11-21T11:30:00Z", "2026-11-22T11:30:00Z"],
  ["in 3 days", "Europe/Berlin", "2026-11-21T11:30:00Z", "2026-11-24T11:30:00Z"],
  // Clocks that are put forward over the time, and put back to it.
  ["tomorrow at 2:30", "Europe/Berlin", "2026-03-28T11:00:00Z", "2026-03-29T01:30:00Z"],
  ["tomorrow at 2:30", "America/New_York", "2026-03-07T17:00:00Z", "2026-03-08T07:30:00Z"],
  ["tomorrow at 2:30", "Europe/Berlin", "2026-10-24T11:00:00Z", "2026-10-25T00:30:00Z"],
  ["tomorrow at 1:30", "America/New_York", "2026-10-31T17:00:00Z", "2026-11-01T05:30:00Z"],
  ["in 2 hours", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T02:30:00Z"],
  ["in 1 day", "Europe/Berlin", "2026-03-28T10:30:00Z", "2026-03-29T09:30:00Z"],
];
