/**
 * What people ask an agent for in a week, as rows: where, what others said there before, what Ann asks, and the calls that a
 * model makes for it, one per step. `card`: a person would expect to be asked.
 *
 * Places: `general` and `design` are public channels, `leads` is a private one of Ann and Ben, `dm` is Ann's own; `/` and a number
 * is a thread there. `+name: content` is a file. `{design}` links to the newest message there, `{file}` is the
 * id of the newest one with a file, and `{reminder}` that of the reminder in the result before.
 */
export type Row = readonly [
  place: string,
  before: readonly string[],
  asks: string,
  calls: readonly string[],
  card?: "card",
];

export const reads =
  "list_mail get_mail list_events get_event list_tickets get_ticket search_docs get_doc list_people".split(" ");
export const writes = "send_mail create_event close_ticket".split(" ");

const [history, list] = ["chat_history {}", "list_folder {}"];
const [mails, mail] = ["team_list_mail {}", 'team_get_mail {"id":"7"}'];
const [events, event] = ["team_list_events {}", 'team_get_event {"id":"4"}'];
const [tickets, ticket] = ["team_list_tickets {}", 'team_get_ticket {"id":"12"}'];
const [docs, doc] = ['team_search_docs {"text":"launch"}', 'team_get_doc {"id":"3"}'];
const people = "team_list_people {}";
const find = (query: string, more = "") => `chat_search {"query":"${query}"${more}}`;
const write = (path: string, content: string) => `write_file {"path":"${path}","content":"${content}"}`;
const note = (title: string, text: string) => `remember {"title":"${title}","text":"${text}"}`;
const recall = (query: string) => `recall {"query":"${query}"}`;
const remind = (text: string, when: string) => `schedule_add {"text":"${text}","when":"${when}","kind":"remind"}`;
const run = (command: string) => `shell_exec {"command":"${command}"}`;
const sales = "+sales.csv: month,total\\nMay,3\\nJune,4\\n";

/** With a server whose reading tools are in `trust`. */
export const tasks: readonly Row[] = [
  ["dm", [], "What is new in my mail?", [mails]],
  ["dm", [], "Sum up the newest mail.", [mails, mail]],
  ["dm", [], "What do I have today?", [events]],
  ["dm", [], "Who comes to the launch meeting?", [events, event, people]],
  ["dm", [], "Which tickets are mine?", [tickets]],
  ["dm", [], "What is ticket 12 about?", [ticket]],
  ["dm", [], "Find the launch plan.", [docs, doc]],
  ["dm", [], "Prepare me for today.", [mails, events, tickets]],
  ["dm", [], "Write my day down in today.md.", [events, write("today.md", "# Today\\n\\n- Launch at ten\\n")]],
  ["dm", [], "Make a table of the open tickets.", [tickets, write("tickets.csv", "id,title\\n12,Login\\n")]],
  ["dm", [], "Draft an answer to mail 7, don't send it.", [mail, write("answer.md", "Thanks, see you Friday.\\n")]],
  ["dm", [], "Answer mail 7: yes.", [mail, 'team_send_mail {"to":"ben","text":"Yes."}'], "card"],
  ["dm", [], "Put lunch with Ben in the calendar.", [people, 'team_create_event {"title":"Lunch"}'], "card"],
  ["dm", [], "Close ticket 12.", ['team_close_ticket {"id":"12"}'], "card"],
  ["dm", [], "Does my calendar clash with ticket 12?", [ticket, events]],
  ["dm", [], "Compare the plan with the tickets.", [doc, tickets]],
  [
    "dm",
    [],
    "Count the words of the launch plan.",
    [doc, write("plan.md", "Launch on Friday.\\n"), run("wc -w plan.md")],
  ],
  ["dm", [], "What did I save about the launch?", [recall("launch"), doc]],
  ["dm", [], "Who knows about the login?", [people, find("login")]],
  ["dm", [], "Is anything in my mail about the demo?", [mails, find("demo")]],
  ["general", [], "@Remora what is on the team calendar?", [events]],
  ["general", ["Ben: Login is slow again."], "@Remora is there a ticket for that?", [tickets]],
  ["general", ["Ben: See ticket 12."], "@Remora what does it say?", [ticket]],
  ["general", [], "@Remora who is in the team?", [people]],
  ["general", [], "@Remora where is the launch plan?", [docs]],
  ["general", ["Ben: I wrote the plan."], "@Remora sum it up.", [docs, doc]],
  ["general", [], "@Remora which tickets are open, and which are in the plan?", [tickets, doc]],
  ["general", [], "@Remora put the open tickets into open.md.", [tickets, write("open.md", "- 12 Login\\n")]],
  ["general", [], "@Remora when is the launch meeting?", [events, event]],
  ["general", ["Ben: Who can take ticket 12?"], "@Remora who is free?", [ticket, people, events]],
  ["general", [], "@Remora close ticket 12.", ['team_close_ticket {"id":"12"}'], "card"],
  [
    "general",
    ["Ben: Please tell the customer."],
    "@Remora do that.",
    [ticket, 'team_send_mail {"to":"x","text":"Done."}'],
    "card",
  ],
  ["general", [], "@Remora did we talk about ticket 12?", [ticket, find("ticket 12")]],
  ["general", [], "@Remora what happened here, and what is planned?", [history, events]],
  ["general/1", ["Ben: The login fails on Safari."], "@Remora which ticket is it?", [tickets]],
  ["general/1", ["Ben: I think 12."], "@Remora show it.", [ticket]],
  ["general/1", ["Ben: And the plan?"], "@Remora check the plan.", [docs, doc]],
  ["general/1", [], "@Remora write the steps into steps.md.", [ticket, write("steps.md", "1. Open Safari\\n")]],
  ["general/1", [], "@Remora show me steps.md.", [list, 'read_file {"path":"steps.md"}']],
  [
    "general/1",
    ["Ben: Add a step: log in."],
    "@Remora please do.",
    [write("steps.md", "1. Open Safari\\n2. Log in\\n")],
  ],
  ["general/2", [], "@Remora list this week's events.", [events]],
  ["general/2", [], "@Remora and the tickets.", [tickets]],
  ["general/2", ["Ben: Which one is oldest?"], "@Remora which?", [ticket]],
  ["design", [], "@Remora find the doc about launch colours.", [docs]],
  ["design", ["Ben: The logo must be blue."], "@Remora does the doc say so?", [doc]],
  ["design", [], "@Remora any tickets for design?", [tickets]],
  ["design", [], "@Remora who owns the logo?", [people, docs]],
  ["design", [], "@Remora compare the doc with what we said here.", [doc, history]],
  ["design/1", ["Ben: Shall we meet?"], "@Remora when are we both free?", [events, people]],
  ["design/1", [], "@Remora book it.", ['team_create_event {"title":"Logo"}'], "card"],
  ["leads", [], "@Remora which tickets are late?", [tickets]],
  ["leads", ["Ben: The launch moves."], "@Remora what does the plan say?", [docs, doc]],
  ["leads", [], "@Remora who is away next week?", [events, people]],
  ["leads", [], "@Remora sum up mail 7.", [mail]],
  ["leads", [], "@Remora write the risks into risks.md.", [tickets, doc, write("risks.md", "- Login\\n")]],
  ["leads/1", ["Ben: Budget?"], "@Remora is the budget in the plan?", [doc]],
  ["leads/1", [], "@Remora and in my mail?", [mails, mail]],
  ["leads/1", [], "@Remora what did we say here, and what do the tickets say?", [history, tickets]],
  ["dm", [], "Which of yesterday's mails still need an answer?", [mails, mail, recall("answered")]],
  ["dm", [], "Anything else for today?", [mails, events, tickets, people]],
];

export const questions: readonly Row[] = [
  ["general", [], "@Remora what is 15 % of 80?", []],
  ["general", ["Ben: The demo is on Friday at ten."], "@Remora when is the demo?", []],
  ["general", ["Ben: I moved the stand-up.", "Ben: It is at nine now."], "@Remora catch me up.", [history]],
  ["general", [], "@Remora what did Ben say about the demo?", [find("demo", ',"author":"Ben"')]],
  ["general", [], "@Remora when did we talk about login?", [find("login", ',"channel":"#general"')]],
  ["general", [], "@Remora what did design decide about the logo?", [find("logo", ',"channel":"#design"')]],
  ["general", [], "@Remora what is new in #design?", ['chat_history {"channel":"#design"}']],
  ["general", ["Ben: Look at {design}"], "@Remora what is meant there?", []],
  ["general", [], "@Remora sum up {design}", []],
  [
    "general",
    [`Ben: ${sales}`],
    "@Remora what is in Ben's file?",
    [history, 'chat_fetch_file {"messageId":"{file}","name":"sales.csv"}'],
  ],
  ["general", [], `@Remora what is the total? ${sales}`, ['data_describe {"files":["inbox/sales.csv"]}']],
  ["general", [], "@Remora remember that the demo is on Friday.", [note("Demo", "The demo is on Friday.")]],
  ["general", [], "@Remora when was the demo?", [recall("demo")]],
  ["general", [], "@Remora remind me tomorrow at 9 to call Ben.", [remind("Call Ben", "tomorrow at 9")]],
  ["general", [], "@Remora which reminders do I have?", ["schedule_list {}"]],
  ["general", ["Ben: Done!"], "@Remora react to that with a thumb.", ['chat_react {"emoji":"👍"}']],
  ["general", ["Ben: We need a name for the release."], "@Remora suggest three names.", [history]],
  ["general", [], "@Remora write the names into names.md.", [write("names.md", "- Ada\\n- Bea\\n")]],
  ["general", [], "@Remora share names.md here.", ['chat_upload {"path":"names.md"}']],
  [
    "general",
    [],
    "@Remora post in #design that we are done.",
    ['chat_post {"channel":"#design","text":"We are done."}'],
    "card",
  ],
  ["general", [], "@Remora what did the leads decide?", ['chat_history {"channel":"#leads"}'], "card"],
  ["general", [], "@Remora search everything for budget.", [find("budget", ',"channel":"#leads"')], "card"],
  ["general/3", ["Ben: Which port does the shop use?"], "@Remora do you know?", [find("port")]],
  ["general/3", ["Ben: It was 8080."], "@Remora remember the port.", [note("Port", "The shop uses port 8080.")]],
  ["general/3", ["Ben: And the host?"], "@Remora look in our notes.", [recall("host")]],
  ["general/3", [], "@Remora sum up this thread.", [history]],
  ["general/3", ["Ben: Thanks!"], "@Remora who asked first?", [history]],
  ["general/4", [], "@Remora explain what a webhook is.", []],
  ["general/4", [], "@Remora in one sentence.", []],
  ["general/4", ["Ben: With an example?"], "@Remora please answer Ben.", []],
  ["design", [], "@Remora which colour did we choose?", [find("colour")]],
  ["design", ["Ben: The logo is blue."], "@Remora note that.", [note("Logo", "The logo is blue.")]],
  ["design", ["Ben: No, green."], "@Remora correct the note.", [recall("logo"), note("Logo", "The logo is green.")]],
  ["design", [], "@Remora what is new in #general?", ['chat_history {"channel":"#general"}']],
  ["design", [], "@Remora what did general say about the demo?", [find("demo", ',"channel":"#general"')]],
  ["design", [], `@Remora describe this file. ${sales}`, []],
  ["design/2", ["Ben: See {general}"], "@Remora what do you think?", []],
  ["design/2", [], "@Remora remind me in 2 hours to look again.", [remind("Look again", "in 2 hours")]],
  ["design/2", [], "@Remora and remove that reminder.", ["schedule_list {}", 'schedule_remove {"id":"{reminder}"}']],
  ["leads", ["Ben: The budget is 4,000."], "@Remora what is the budget?", []],
  ["leads", [], "@Remora what did we decide here?", [history]],
  ["leads", [], "@Remora when did we first talk about the budget?", [find("budget", ',"channel":"#leads"')]],
  ["leads", [], "@Remora what did we say about hiring?", [find("hiring")]],
  ["leads", ["Ben: Ann, please note it."], "@Remora note the budget.", [note("Budget", "The budget is 4,000.")]],
  ["leads", [], "@Remora how much was it?", [recall("budget")]],
  ["leads", [], "@Remora what is new in #general?", ['chat_history {"channel":"#general"}']],
  ["leads", ["Ben: They wrote {design}"], "@Remora is that right?", []],
  [
    "leads",
    [`Ben: ${sales}`],
    "@Remora sum up the file.",
    [history, 'chat_fetch_file {"messageId":"{file}","name":"sales.csv"}'],
  ],
  ["leads", [], "@Remora remind me on Monday to pay.", [remind("Pay", "Monday at 9")]],
  ["leads/2", ["Ben: Whom do we hire?"], "@Remora what did we say so far?", [history]],
  ["leads/2", [], "@Remora look in the whole channel.", [find("hire", ',"channel":"#leads"')]],
  [
    "leads/2",
    [],
    "@Remora tell #general that we hire.",
    ['chat_post {"channel":"#general","text":"We hire."}'],
    "card",
  ],
  ["dm", [], "What did the leads decide?", ['chat_history {"channel":"#leads"}']],
  ["dm", [], "When did we talk about the budget?", [find("budget")]],
  ["dm", [], "Remember that I am away in May.", [note("Away", "Ann is away in May.")]],
  ["dm", [], "When am I away?", [recall("away")]],
  ["dm", [], "Remind me in 20 minutes to drink.", [remind("Drink", "in 20 minutes")]],
  ["dm", [], `What is in this file? ${sales}`, [list, 'read_file {"path":"inbox/sales.csv"}']],
  [
    "dm",
    [],
    "What is new in #general and #design?",
    ['chat_history {"channel":"#general"}', 'chat_history {"channel":"#design"}'],
  ],
  ["dm", [], "Sum up {leads}", []],
];
