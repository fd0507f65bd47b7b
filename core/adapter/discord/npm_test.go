package discord

import (
	"fmt"
	"slices"
	"testing"

	"gatewaytui/core/adapter/discord/discordtest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/npmtest"
)

// The official client: what it understands of the double, the adapter may rely on.
const (
	client        = "discord.js"
	clientVersion = "14.28.1"
)

// echo is a bot with that client: it answers each message with the same text and puts a sign on it, edits and types, until its standard
// input ends.
const echo = `
const { Client, GatewayIntentBits, Partials } = require('discord.js');
const bot = new Client({
	intents: [GatewayIntentBits.DirectMessages, GatewayIntentBits.MessageContent, GatewayIntentBits.GuildMessages],
	partials: [Partials.Channel], rest: { api: process.argv[1] },
});
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
process.on('unhandledRejection', (e) => { console.error(String(e)); });
bot.on('error', (e) => console.error(String(e)));
bot.on('clientReady', async () => {
	const menu = await bot.application.commands.set([{ name: 'ask', description: 'a question', options: [{ type: 3, name: 'text', description: 'it' }] }]);
	console.log('ready ' + bot.user.id + ' ' + menu.map((c) => c.name).join());
});
bot.on('interactionCreate', async (i) => {
	if (i.isChatInputCommand()) { await i.reply({ content: i.commandName + ' ' + i.options.getString('text'), ephemeral: true }); return; }
	await i.deferUpdate(); await i.channel.send('pressed ' + i.customId); });
bot.on('messageCreate', async (m) => {
	if (m.author.bot) return;
	await m.channel.sendTyping();
	const files = m.attachments.map((a) => ({ attachment: a.url, name: a.name }));
	const sent = await m.channel.send({ content: m.content, nonce: m.id, enforceNonce: true, files });
	if (m.content === 'edit') await sent.edit('edited');
	await m.channel.send({ content: m.content, nonce: m.id, enforceNonce: true });
	const again = await m.fetch();
	await again.react('👀');
});
bot.login(process.argv[2]).catch((e) => { console.log('login: ' + e.message); });
`

func TestTheOfficialClientUnderstandsTheDouble(t *testing.T) {
	dir := npmtest.Install(t, client, clientVersion)
	s := discordtest.New(token)
	defer s.Close()
	if line := npmtest.Serve(t, dir, echo, s.URL, "wrong"); line != "login: An invalid token was provided." {
		t.Errorf("with a wrong token the client said %q", line)
	}
	if line := npmtest.Serve(t, dir, echo, s.URL, token); line != "ready "+discordtest.BotID+" ask" {
		t.Fatalf("the client said %q", line)
	}
	texts := func() (out []string) {
		for _, m := range s.Sent() {
			out = append(out, m.Text)
		}
		return out
	}
	want := func(texts func() []string, all ...string) {
		t.Helper()
		eventually.True(t, fmt.Sprintf("%d messages are sent", len(all)), func() bool { return len(texts()) == len(all) })
		for i, text := range texts() {
			if text != all[i] {
				t.Errorf("the client sent %q, want %q", texts(), all)
			}
		}
	}
	reacted := func() []string { return s.Calls("PUT /channels/74711/messages/") }
	s.Say(discordtest.Says{User: "4711", Name: "alice", Text: "hello"})
	eventually.True(t, "the first message is answered", func() bool { return len(reacted()) == 1 })
	want(texts, "hello") // once, for its nonce

	s.Reconnect()
	s.Say(discordtest.Says{User: "4711", Name: "alice", Text: "edit"}) // it is in the session, with or without a connection
	eventually.True(t, "the message of the gap is answered", func() bool { return s.Resumes() == 1 && len(reacted()) == 2 })
	want(texts, "hello", "edited")

	s.Fail("POST /channels/74711/messages", discordtest.Fault{Status: 429, RetryAfter: 0.2, Times: 2})
	s.Say(discordtest.Says{User: "4711", Name: "alice", Text: "limited", Files: map[string]string{"a.txt": "content"}})
	eventually.True(t, "the client waits for the limit", func() bool { return len(reacted()) == 3 })
	want(texts, "hello", "edited", "limited")
	if last := s.Sent()[2]; last.FileName != "a.txt" || last.File != "content" {
		t.Errorf("the file came as %q with %q", last.FileName, last.File)
	}

	s.Press("4711", "74711", "yes")
	want(texts, "hello", "edited", "limited", "pressed yes")
	if n := len(s.Calls("POST /interactions/")); n != 1 {
		t.Errorf("the press was acknowledged %d times", n)
	}
	s.Use("4711", "74711", "ask", "what?")
	eventually.True(t, "the use is answered", func() bool { return slices.Contains(s.Answered(), "ask what?") })
	if n := len(s.Identifies()); n != 1 {
		t.Errorf("the client identified %d times, want once", n)
	}
	s.Forget()
	s.Drop(4000)
	eventually.True(t, "the client begins a new session", func() bool { return len(s.Identifies()) == 2 })
}
