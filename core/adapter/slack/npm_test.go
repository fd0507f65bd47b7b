package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/adapter/slack/slacktest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/npmtest"
	"gatewaytui/fixtures/soak"
)

// The official clients: what they understand of the double, the adapter may rely on.
const (
	client        = "@slack/socket-mode"
	clientVersion = "3.1.0"
	webClient     = "@slack/web-api@8.2.0"
)

// echo is a bot with those clients: it answers each message with the same text and puts a sign on it, edits, uploads a file and shows that
// it types, until its standard input ends.
const echo = `
const { SocketModeClient } = require('@slack/socket-mode');
const { WebClient } = require('@slack/web-api');
const [base, appToken, botToken] = process.argv.slice(1);
const quiet = { setLevel() {}, setName() {}, getLevel() { return 'error'; }, debug() {}, info() {}, warn() {}, error(...e) { console.error(...e); } };
const web = new WebClient(botToken, { slackApiUrl: base + '/', logger: quiet, retryConfig: { retries: 3, minTimeout: 10, maxTimeout: 2000 } });
const socket = new SocketModeClient({ appToken, clientOptions: { slackApiUrl: base + '/', retryConfig: { retries: 0 } }, logger: quiet });
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
process.on('unhandledRejection', (e) => { console.error(String(e)); });
socket.on('slack_event', async ({ type, body, ack }) => {
	if (type === 'slash_commands') { await ack({ text: body.command + ' ' + body.text }); return; }
	await ack();
	if (type === 'interactive') { await web.chat.postMessage({ channel: body.channel.id, text: 'pressed ' + body.actions[0].value }); return; }
	const m = body.event;
	if (!m || m.type !== 'message' || m.bot_id || m.subtype === 'message_changed') return;
	const channel = m.channel;
	await web.assistant.threads.setStatus({ channel_id: channel, thread_ts: m.ts, status: 'is typing' });
	const sent = await web.chat.postMessage({ channel, text: m.text, metadata: { event_type: 'echo', event_payload: { key: m.ts } },
		blocks: [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: m.text }] }] },
			{ type: 'actions', block_id: 'row', elements: [{ type: 'button', action_id: 'a', value: 'yes', text: { type: 'plain_text', text: 'Yes' } }] }] });
	if (m.text === 'edit') await web.chat.update({ channel, ts: sent.ts, text: 'edited', blocks: [] });
	if (m.files) {
		const info = await web.files.info({ file: m.files[0].id });
		const got = await fetch(info.file.url_private_download, { headers: { Authorization: 'Bearer ' + botToken } });
		await web.filesUploadV2({ channel_id: channel, filename: 'b.txt', file: Buffer.from(await got.text()), initial_comment: 'again' });
	}
	const history = await web.conversations.history({ channel, include_all_metadata: true });
	const found = history.messages.find((x) => x.metadata && x.metadata.event_payload.key === m.ts);
	const who = await web.users.info({ user: m.user });
	await web.reactions.add({ channel, timestamp: m.ts, name: found && who.user.profile.display_name ? 'eyes' : 'x' });
});
(async () => {
	let who;
	try { who = await web.auth.test(); } catch (e) { console.log('auth: ' + e.data.error); return; }
	socket.once('connected', () => console.log('ready ' + who.user_id));
	await socket.start();
})();
`

func TestTheOfficialClientsUnderstandTheDouble(t *testing.T) {
	dir := npmtest.Install(t, client, clientVersion, webClient)
	s := slacktest.New(appToken, botToken)
	defer s.Close()
	if line := npmtest.Serve(t, dir, echo, s.URL, appToken, "xoxb-wrong"); line != "auth: invalid_auth" {
		t.Errorf("with a wrong token the client said %q", line)
	}
	if line := npmtest.Serve(t, dir, echo, s.URL, appToken, botToken); line != "ready "+slacktest.BotUser {
		t.Fatalf("the client said %q", line)
	}
	want := func(all ...string) {
		t.Helper()
		texts := func() (out []string) {
			for _, m := range s.Sent() {
				out = append(out, m.Text)
			}
			return out
		}
		eventually.True(t, fmt.Sprintf("the chat has %q", all), func() bool { return slices.Equal(texts(), all) })
	}
	seen := func(message string) {
		t.Helper()
		eventually.True(t, "the message is answered", func() bool { return slices.Equal(s.Reactions(dm, message), []string{"eyes"}) })
	}
	seen(s.Say(slacktest.Says{User: owner, Text: "hello"}))
	want("hello")
	if len(s.Statuses()) != 1 || s.Unacked() != 0 {
		t.Errorf("the client showed %q, and left %d messages unacknowledged", s.Statuses(), s.Unacked())
	}
	seen(s.Say(slacktest.Says{User: owner, Text: "edit"}))
	want("hello", "edited")

	s.Fail("chat.postMessage", slacktest.Fault{Status: 429, RetryAfter: 1, Times: 1})
	seen(s.Say(slacktest.Says{User: owner, Text: "limited", Files: map[string]string{"a.txt": "content"}}))
	want("hello", "edited", "limited", "again")
	if last := s.Sent()[3]; last.FileName != "b.txt" || last.File != "content" {
		t.Errorf("the file came as %q with %q", last.FileName, last.File)
	}
	if !s.Press(owner, s.Sent()[0].ID, "Yes") {
		t.Error("there is no button")
	}
	want("hello", "edited", "limited", "again", "pressed yes")
	s.Use(owner, dm, "/gateway", "stop")
	eventually.True(t, "the use of a command is answered", func() bool { return strings.Contains(strings.Join(s.Answers(), ""), "/gateway stop") })

	if !soak.On() {
		return // the client waits five seconds before it connects again
	}
	s.Ask("refresh_requested")
	eventually.True(t, "the client connects again", func() bool { return s.Opens() >= 2 && s.Connections() >= 1 })
	seen(s.Say(slacktest.Says{User: owner, Text: "in the gap"}))
}
