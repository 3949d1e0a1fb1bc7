/** Interactions with the real client: commands, buttons, menus, modals, deadlines, and visibility of responses. */
import {
  ActionRowBuilder,
  ButtonBuilder,
  type ButtonInteraction,
  ButtonStyle,
  type ChatInputCommandInteraction,
  type Client,
  Events,
  type Interaction,
  LabelBuilder,
  MessageFlags,
  ModalBuilder,
  ApplicationCommandOptionType as Option,
  StringSelectMenuBuilder,
  type TextChannel,
  TextInputBuilder,
  TextInputStyle,
  UserSelectMenuBuilder,
} from "discord.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { call, connect } from "./client.ts";
import { createDiscordDouble, type DiscordDouble } from "./double.ts";
import type { SeenMessage } from "./view.ts";

let discord: DiscordDouble;
let client: Client<true>;
let pending: Interaction[];

const commands = [
  {
    name: "remora",
    description: "The agent",
    options: [
      { type: Option.Subcommand, name: "status", description: "How it is" },
      {
        type: Option.Subcommand,
        name: "tell",
        description: "Tells",
        options: [
          { type: Option.String, name: "what", description: "What", required: true, max_length: 10 },
          { type: Option.User, name: "whom", description: "Whom" },
          { type: Option.Integer, name: "times", description: "How often" },
        ],
      },
    ],
  },
] as const;

beforeEach(async () => {
  discord = await createDiscordDouble({ limits: "none" });
  client = await connect(discord);
  pending = [];
  client.on(Events.InteractionCreate, (interaction) => pending.push(interaction));
});

afterEach(async () => {
  await client.destroy();
  await discord.stop();
});

async function next<T extends Interaction>(): Promise<T> {
  await discord.until(() => pending.length > 0);
  return pending.shift() as T;
}

async function command(typed = "remora status"): Promise<ChatInputCommandInteraction> {
  await client.application.commands.set(commands as never);
  discord.ann.slash(typed, { in: discord.channel });
  return await next();
}

async function card(): Promise<SeenMessage> {
  const button = (label: string) => new ButtonBuilder().setLabel(label).setCustomId(label.toLowerCase());
  const row = new ActionRowBuilder<ButtonBuilder>().addComponents(
    button("Approve").setStyle(ButtonStyle.Success),
    button("Deny").setStyle(ButtonStyle.Danger),
    button("Later").setStyle(ButtonStyle.Secondary).setDisabled(true),
  );
  const channel = client.channels.cache.get(discord.channel.id) as TextChannel;
  const sent = await channel.send({ content: "Run it?", components: [row] });
  const seen = discord.message(sent);
  if (seen === undefined) throw new Error("the card is not there");
  return seen;
}

test("a command has its subcommand, options, person, channel and permissions", async () => {
  await client.application.commands.set(commands as never);
  const options = { what: "hello", whom: discord.ben.id, times: 3 };
  const typed = discord.ann.slash("remora tell", { in: discord.channel, options });
  const interaction = await next<ChatInputCommandInteraction<"cached">>();
  expect(interaction.options.getSubcommand()).toBe("tell");
  expect(interaction.options.getString("what")).toBe("hello");
  expect(interaction.options.getUser("whom")?.username).toBe("ben");
  expect(interaction.options.getInteger("times")).toBe(3);
  expect(interaction.member.displayName).toBe("Ann");
  expect(interaction.channel?.id).toBe(discord.channel.id);
  expect(interaction.appPermissions.has("SendMessages")).toBe(true);
  await interaction.reply("told");
  expect(typed.state()).toBe("answered");
  expect(discord.channel.messages()).toMatchObject([{ type: 20, content: "told", isEphemeral: false }]);
});

test("a command works in channels that the bot can't see, and reports no permissions there", async () => {
  discord.channel.permit(discord.bot, { deny: ["ViewChannel"] });
  const interaction = await command();
  expect(interaction.appPermissions.bitfield).toBe(0n);
  await interaction.reply("here all the same");
  expect(discord.channel.messages()).toMatchObject([{ content: "here all the same" }]);
});

test("people can only enter registered commands with valid options", async () => {
  expect(() => discord.ann.slash("remora status", { in: "dm" })).toThrow("there is no /remora here; there is: nothing");
  await client.application.commands.set(commands as never);
  const tell = (options: Record<string, string | number>) => () =>
    discord.ann.slash("remora tell", { in: "dm", options });
  expect(tell({})).toThrow('option "what" is required');
  expect(tell({ what: "x".repeat(11) })).toThrow("takes 10 characters, not 11");
  expect(tell({ what: "x", times: "3" })).toThrow('takes a number, not "3"');
  expect(tell({ what: "x", why: "y" })).toThrow('has no option "why"');
  expect(() => discord.ann.slash("remora sing", { in: "dm" })).toThrow('there is no "sing"; there is: status, tell');
});

test("guild and global commands are separate, and keep their ids when registered again", async () => {
  const first = await client.application.commands.set(commands as never);
  await client.application.commands.set([{ name: "local", description: "Here" }], discord.guild.id);
  const second = await client.application.commands.set(commands as never);
  expect([...second.keys()]).toEqual([...first.keys()]);
  expect(discord.commands().map(({ name }) => name)).toEqual(["remora"]);
  expect(discord.commands(discord.guild).map(({ name }) => name)).toEqual(["local"]);
  expect(() => discord.ann.slash("local", { in: "dm" })).toThrow("there is no /local here");
});

test("a deferred response shows a thinking state, and its answer is not marked as edited", async () => {
  const interaction = await command();
  await interaction.deferReply();
  expect(discord.channel.messages()).toMatchObject([{ content: "", isLoading: true }]);
  await interaction.editReply("done");
  expect(discord.channel.messages()).toMatchObject([{ content: "done", isLoading: false, isEdited: false }]);
});

test("the first follow-up replaces a deferred response", async () => {
  const interaction = await command();
  await interaction.deferReply({ flags: MessageFlags.Ephemeral });
  await interaction.followUp({ content: "first" });
  await interaction.followUp({ content: "second" });
  expect(discord.ann.sees(discord.channel)).toMatchObject([
    { content: "first", isEphemeral: true },
    { content: "second", isEphemeral: false },
  ]);
});

test("an ephemeral response is visible to one person, and not through REST", async () => {
  const interaction = await command();
  const heard: string[] = [];
  client.on(Events.MessageCreate, ({ content }) => heard.push(content));
  await interaction.reply({ content: "just you", flags: MessageFlags.Ephemeral });
  const [own] = discord.ann.sees(discord.channel);
  expect(own).toMatchObject({ content: "just you", isEphemeral: true });
  expect(discord.ben.sees(discord.channel)).toEqual([]);
  expect(discord.channel.messages()).toEqual([]);
  const path = `/channels/${discord.channel.id}/messages/${own?.id}`;
  expect((await call(discord, "GET", path)).body.code).toBe(10008);
  expect((await call(discord, "PATCH", path, { content: "x" })).body.code).toBe(10008);
  await interaction.editReply("still just you");
  await interaction.deleteReply();
  expect(discord.ann.sees(discord.channel)).toEqual([]);
  discord.ben.say("for all", { in: discord.channel });
  await discord.until(() => heard.length > 0);
  expect(heard).toEqual(["for all"]);
});

test("a response only mentions people, unless it says otherwise", async () => {
  const crew = discord.guild.addRole("crew", { isMentionable: true });
  const interaction = await command();
  await interaction.reply(`${discord.ben.mention} ${crew.mention}`);
  expect(discord.channel.messages()[0]?.pings).toEqual({ users: [discord.ben.id], roles: [], everyone: false });
});

test("an interaction can be answered once", async () => {
  const interaction = await command();
  await interaction.reply("one");
  const path = `/interactions/${interaction.id}/${interaction.token}/callback`;
  const again = await call(discord, "POST", path, { type: 4, data: { content: "two" } });
  expect(again).toMatchObject({ status: 400, body: { code: 40060 } });
});

test("a response after three seconds is refused, and the person sees a failure", async () => {
  await client.application.commands.set(commands as never);
  const typed = discord.ann.slash("remora status", { in: discord.channel });
  const interaction = await next<ChatInputCommandInteraction>();
  expect(typed.state()).toBe("waiting");
  discord.clock.advance(3001);
  expect(typed.state()).toBe("failed");
  await expect(interaction.reply("late")).rejects.toMatchObject({ code: 10062, status: 404 });
  await expect(interaction.webhook.send("later")).rejects.toMatchObject({ code: 50027, status: 401 });
});

test("the token is valid for fifteen minutes", async () => {
  const interaction = await command();
  await interaction.deferReply();
  discord.clock.advance(14 * 60_000);
  await interaction.editReply("in time");
  discord.clock.advance(2 * 60_000);
  await expect(interaction.editReply("too late")).rejects.toMatchObject({ code: 50027 });
});

test("a click has its message, and the response can change it", async () => {
  const message = await card();
  const click = discord.ben.click(message, "Approve");
  const interaction = await next<ButtonInteraction>();
  expect(interaction).toMatchObject({ customId: "approve", user: { username: "ben" } });
  expect(interaction.message.id).toBe(message.id);
  await interaction.update({ content: "Approved by Ben", components: [] });
  expect(click.reply()).toMatchObject({ id: message.id, content: "Approved by Ben", buttons: [] });
});

test("an acknowledged click keeps the message, which can be edited later", async () => {
  const message = await card();
  const click = discord.ben.click(message, "deny");
  const interaction = await next<ButtonInteraction>();
  await interaction.deferUpdate();
  expect(click.state()).toBe("deferred");
  expect(discord.message(message)?.content).toBe("Run it?");
  await interaction.editReply({ content: "Denied", components: [] });
  await interaction.followUp({ content: "noted", flags: MessageFlags.Ephemeral });
  expect(click.state()).toBe("answered");
  expect(click.replies().map(({ content }) => content)).toEqual(["Denied", "noted"]);
});

test("disabled or missing buttons can't be clicked", async () => {
  const message = await card();
  expect(() => discord.ben.click(message, "Later")).toThrow("is disabled");
  expect(() => discord.ben.click(message, "Cancel")).toThrow('has no "Cancel"; it has: Approve, Deny, Later');
  discord.channel.permit(discord.guild.everyone, { deny: ["ViewChannel"] });
  expect(() => discord.ben.click(message, "Approve")).toThrow("Missing Access");
});

test("only its reader can click an ephemeral message", async () => {
  const interaction = await command();
  const button = new ButtonBuilder().setLabel("Again").setCustomId("again").setStyle(ButtonStyle.Primary);
  const components = [new ActionRowBuilder<ButtonBuilder>().addComponents(button)];
  await interaction.reply({ content: "psst", components, flags: MessageFlags.Ephemeral });
  const [own] = discord.ann.sees(discord.channel);
  if (own === undefined) throw new Error("nothing is shown");
  expect(() => discord.ben.click(own, "Again")).toThrow("only");
  discord.ann.click(own, "Again");
  await (await next<ButtonInteraction>()).update({ content: "done", components: [] });
  expect(discord.ann.sees(discord.channel)).toMatchObject([{ content: "done", isEphemeral: true }]);
});

test("a modal is shown, filled in and submitted, with rows and labels", async () => {
  const message = await card();
  const click = discord.ben.click(message, "Approve");
  const interaction = await next<ButtonInteraction>();
  const input = (id: string) => new TextInputBuilder().setCustomId(id).setStyle(TextInputStyle.Paragraph);
  const row = new ActionRowBuilder<TextInputBuilder>().addComponents(input("why").setLabel("Why").setMaxLength(20));
  const label = new LabelBuilder().setLabel("Arguments").setTextInputComponent(input("args").setValue('{"a":1}'));
  await interaction.showModal(
    new ModalBuilder().setCustomId("edit").setTitle("Edit").addComponents(row).addLabelComponents(label),
  );
  expect(click.modal()).toMatchObject({
    customId: "edit",
    inputs: [
      { customId: "why", label: "Why", maxLength: 20 },
      { customId: "args", label: "Arguments", value: '{"a":1}' },
    ],
  });
  expect(() => discord.ben.submit(click, {})).toThrow('input "why" is required');
  expect(() => discord.ben.submit(click, { why: "x".repeat(21) })).toThrow("takes 20 characters");
  expect(() => discord.ann.submit(click, { why: "because" })).toThrow("alone");
  const submitted = discord.ben.submit(click, { why: "because" });
  const handed = await next();
  if (!handed.isModalSubmit() || !handed.isFromMessage()) throw new Error("no modal came");
  expect(handed.fields.getTextInputValue("why")).toBe("because");
  expect(handed.fields.getTextInputValue("args")).toBe('{"a":1}');
  await handed.update({ content: "Edited", components: [] });
  expect(submitted.reply()).toMatchObject({ id: message.id, content: "Edited" });
});

test("modals beyond their limits, or in response to a modal, are refused", async () => {
  const message = await card();
  const show = async (data: object) => {
    discord.ben.click(message, "Approve");
    const { id, token } = await next<ButtonInteraction>();
    const { body } = await call(discord, "POST", `/interactions/${id}/${token}/callback`, { type: 9, data });
    return JSON.stringify(body.errors);
  };
  const input = (more: object = {}) => ({ type: 4, custom_id: "i", style: 1, label: "l", ...more });
  const modal = (more: object, inputs: object[] = [input()]) => ({
    custom_id: "m",
    title: "t",
    components: inputs.map((one) => ({ type: 1, components: [one] })),
    ...more,
  });
  expect(await show(modal({ title: "x".repeat(46) }))).toContain('"title":{"_errors":[{"code":"BASE_TYPE_BAD_LENGTH"');
  expect(await show(modal({}, [input({ label: "x".repeat(46) })]))).toContain('"label":{"_errors"');
  expect(await show(modal({}, [input({ value: "x".repeat(4001) })]))).toContain("Must be 4000 or fewer in length.");
  expect(await show(modal({}, [input({ max_length: 4001 })]))).toContain("NUMBER_TYPE_MAX");
  expect(await show(modal({ components: [] }))).toContain("Must be between 1 and 5 in length.");
  const six = ["a", "b", "c", "d", "e", "f"].map((custom_id) => input({ custom_id }));
  expect(await show(modal({}, six))).toContain("Must be between 1 and 5 in length.");
  expect(await show(modal({}, [input(), input()]))).toContain("COMPONENT_CUSTOM_ID_DUPLICATED");
  const click = discord.ben.click(message, "Approve");
  await (await next<ButtonInteraction>()).showModal(modal({}) as never);
  discord.ben.submit(click, { i: "x" });
  const handed = await next();
  if (!handed.isModalSubmit()) throw new Error("no modal came");
  const path = `/interactions/${handed.id}/${handed.token}/callback`;
  const { body } = await call(discord, "POST", path, { type: 9, data: modal({}) });
  expect(body.code).toBe(50035);
});

test("a menu in a modal has default options, and submits the chosen ones", async () => {
  const message = await card();
  const click = discord.ben.click(message, "Approve");
  const interaction = await next<ButtonInteraction>();
  const menu = new StringSelectMenuBuilder()
    .setCustomId("files")
    .setMaxValues(2)
    .addOptions(["a.txt", "b.txt"].map((label) => ({ label, value: label, default: true })));
  const label = new LabelBuilder().setLabel("Files").setDescription("to keep").setStringSelectMenuComponent(menu);
  await interaction.showModal(new ModalBuilder().setCustomId("part").setTitle("Choose").addLabelComponents(label));
  expect(click.modal()?.menus).toMatchObject([
    { customId: "files", label: "Files", description: "to keep", chosen: ["a.txt", "b.txt"], least: 1, most: 2 },
  ]);
  expect(() => discord.ben.submit(click, { files: [] })).toThrow('menu "files" takes 1 to 2 values, not 0');
  expect(() => discord.ben.submit(click, { files: ["c.txt"] })).toThrow('has no value "c.txt"');
  for (const files of [["b.txt"], undefined]) {
    discord.ben.submit(click, files === undefined ? {} : { files });
    const handed = await next();
    if (!handed.isModalSubmit()) throw new Error("no modal came");
    expect(handed.fields.getStringSelectValues("files")).toEqual(files ?? ["a.txt", "b.txt"]);
  }
});

test("menus in modals beyond their limits are refused", async () => {
  const message = await card();
  const option = (value: string, more: object = {}) => ({ label: value, value, ...more });
  const show = async (more: object) => {
    discord.ben.click(message, "Approve");
    const { id, token } = await next<ButtonInteraction>();
    const menu = { type: 3, custom_id: "m", options: [option("a"), option("b")], ...more };
    const data = { custom_id: "c", title: "t", components: [{ type: 18, label: "l", component: menu }] };
    const { body } = await call(discord, "POST", `/interactions/${id}/${token}/callback`, { type: 9, data });
    return JSON.stringify(body.errors);
  };
  const many = Array.from({ length: 26 }, (_, index) => option(String(index)));
  expect(await show({ options: many })).toContain("Must be 25 or fewer in length.");
  expect(await show({ options: [] })).toContain("BASE_TYPE_REQUIRED");
  expect(await show({ options: [option("a"), option("a")] })).toContain("SELECT_COMPONENT_OPTION_VALUE_DUPLICATED");
  expect(await show({ options: [option("a", { label: "x".repeat(101) })] })).toContain("Must be between 1 and 100");
  expect(await show({ options: [option("a", { label: " " })] })).toContain("BASE_TYPE_REQUIRED");
  expect(await show({ options: [option("a", { description: "x".repeat(101) })] })).toContain("Must be 100 or fewer");
  expect(await show({ min_values: 0 })).toContain("NUMBER_TYPE_MIN");
  expect(await show({ max_values: 3 })).toContain("NUMBER_TYPE_MAX");
  expect(await show({ disabled: true })).toContain('"disabled"');
  expect(await show({ options: [option("a", { default: true }), option("b", { default: true })] })).toContain(
    "Must be 1 or fewer in length.",
  );
  expect(await show({ min_values: 0, required: false })).toBeUndefined();
});

test("ticks and uploads in a modal stand beside texts, and the files come as attachments that no message has", async () => {
  const message = await card();
  const click = discord.ben.click(message, "Approve");
  const interaction = await next<ButtonInteraction>();
  const options = ["a.txt", "b.txt"].map((label) => ({ label, value: label, default: true }));
  const ticks = { type: 22, custom_id: "keep", min_values: 0, required: false, options };
  const files = { type: 19, custom_id: "files", max_values: 2, required: false, min_values: 0, file_types: [".PDF"] };
  const components = [
    { type: 10, content: "What it covers." },
    { type: 18, label: "Keep", component: ticks },
    { type: 18, label: "Files", description: "as PDF", component: files },
  ];
  await interaction.showModal({ custom_id: "m", title: "t", components } as never);
  expect(click.modal()).toMatchObject({
    texts: ["What it covers."],
    checkboxes: [{ customId: "keep", chosen: ["a.txt", "b.txt"], least: 0, most: 2 }],
    uploads: [{ customId: "files", label: "Files", description: "as PDF", most: 2, fileTypes: [".pdf"] }],
  });
  const pdf = { name: "plan.pdf", content: "the plan", contentType: "application/pdf" };
  expect(() => discord.ben.submit(click, { keep: ["c.txt"] })).toThrow('has no value "c.txt"');
  expect(() => discord.ben.submit(click, { files: [pdf, pdf, pdf] })).toThrow("takes 0 to 2 values, not 3");
  expect(() => discord.ben.submit(click, { files: [{ ...pdf, name: "plan.exe" }] })).toThrow("does not take plan.exe");
  const large = { ...pdf, content: Buffer.alloc(10_485_761) };
  expect(() => discord.ben.submit(click, { files: [large] })).toThrow("does not upload");
  discord.ben.submit(click, { keep: ["b.txt"], files: [pdf] });
  const handed = await next();
  if (!handed.isModalSubmit()) throw new Error("no modal came");
  expect(handed.fields.getCheckboxGroup("keep")).toEqual(["b.txt"]);
  const [file] = handed.fields.getUploadedFiles("files")?.values() ?? [];
  expect(file).toMatchObject({ name: "plan.pdf", size: 8, ephemeral: true, contentType: "application/pdf" });
  expect(await (await fetch(file?.url ?? "")).text()).toBe("the plan");
  discord.clock.advance(25 * 3_600_000);
  expect((await fetch(file?.url ?? "")).status).toBe(404);
});

test("ticks and uploads in modals beyond their limits are refused", async () => {
  const message = await card();
  const option = (value: string, more: object = {}) => ({ label: value, value, ...more });
  const show = async (component: object) => {
    discord.ben.click(message, "Approve");
    const { id, token } = await next<ButtonInteraction>();
    const part = { type: 18, label: "l", component: { custom_id: "x", ...component } };
    const data = { custom_id: "c", title: "t", components: [part] };
    const { body } = await call(discord, "POST", `/interactions/${id}/${token}/callback`, { type: 9, data });
    return JSON.stringify(body.errors);
  };
  const ticks = (more: object) => show({ type: 22, options: [option("a"), option("b")], ...more });
  const eleven = Array.from({ length: 11 }, (_, index) => option(String(index)));
  expect(await ticks({ options: eleven })).toContain("Must be 10 or fewer in length.");
  expect(await ticks({ options: [] })).toContain("BASE_TYPE_REQUIRED");
  expect(await ticks({ options: [option("a"), option("a")] })).toContain("SELECT_COMPONENT_OPTION_VALUE_DUPLICATED");
  expect(await ticks({ options: [option("a", { label: "x".repeat(101) })] })).toContain("Must be between 1 and 100");
  expect(await ticks({ min_values: 0 })).toContain("NUMBER_TYPE_MIN");
  expect(await ticks({ max_values: 3 })).toContain("NUMBER_TYPE_MAX");
  expect(await ticks({ min_values: 0, required: false })).toBeUndefined();
  const upload = (more: object) => show({ type: 19, ...more });
  expect(await upload({ max_values: 11 })).toContain("NUMBER_TYPE_MAX");
  expect(await upload({ min_values: 0 })).toContain("NUMBER_TYPE_MIN");
  expect(await upload({ file_types: Array.from({ length: 11 }, () => ".a") })).toContain("Must be 10 or fewer");
  expect(await upload({ file_types: ["pdf"] })).toContain("BASE_TYPE_CHOICES");
  expect(await upload({ min_values: 0, required: false, file_types: ["image", ".pdf"] })).toBeUndefined();
});

test("a user menu submits the chosen people", async () => {
  const row = new ActionRowBuilder<UserSelectMenuBuilder>().addComponents(
    new UserSelectMenuBuilder().setCustomId("who"),
  );
  const channel = client.channels.cache.get(discord.channel.id) as TextChannel;
  const sent = await channel.send({ content: "Who?", components: [row] });
  discord.ann.choose(sent, "who", [discord.ben.id]);
  const interaction = await next();
  if (!interaction.isUserSelectMenu()) throw new Error("no choice came");
  expect(interaction.users.map(({ username }) => username)).toEqual(["ben"]);
});

test("a command in a DM has a user and no guild", async () => {
  await client.application.commands.set(commands as never);
  discord.ann.slash("remora status", { in: "dm" });
  const interaction = await next<ChatInputCommandInteraction>();
  expect(interaction.inGuild()).toBe(false);
  expect(interaction.channel?.isDMBased()).toBe(true);
  const { resource } = await interaction.reply({ content: "fine", withResponse: true });
  expect(discord.ann.sees("dm").map(({ id }) => id)).toEqual([resource?.message?.id]);
});

test("a click without a connected client fails", async () => {
  const message = await card();
  await client.destroy();
  const click = discord.ben.click(message, "Approve");
  discord.clock.advance(3001);
  expect(click.state()).toBe("failed");
});
