package feishu

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/adapter/feishu/feishutest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/npmtest"
)

// The official client: what it understands of the double, the adapter may rely on.
const (
	client        = "@larksuiteoapi/node-sdk"
	clientVersion = "1.74.0"
)

// echo is a bot with that client: it answers each message with the same text and puts a sign on it, sends a card and edits it, and
// gives a file back, until its standard input ends.
const echo = `
const lark = require('@larksuiteoapi/node-sdk');
const [domain, appSecret] = process.argv.slice(1);
const none = () => {};
const logger = { fatal: none, error: none, warn: none, info: none, debug: none, trace: none };
const app = { appId: 'cli_0123456789abcdef', appSecret, domain, logger };
const client = new lark.Client(app);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
process.on('unhandledRejection', (e) => { console.error(String(e)); });
const to = (id, msg_type, content, uuid) => client.im.message.create({
	params: { receive_id_type: 'chat_id' }, data: { receive_id: id, msg_type, content: JSON.stringify(content), uuid } });
const card = (text, rows) => ({ schema: '2.0', config: { update_multi: true }, body: { elements: [{ tag: 'markdown', content: text }, ...rows] } });
const button = { tag: 'column_set', flex_mode: 'flow', columns: [{ tag: 'column', width: 'auto', elements: [
	{ tag: 'button', text: { tag: 'plain_text', content: 'Yes' }, behaviors: [{ type: 'callback', value: { say: 'yes' } }] }] }] };
const said = async ({ message: m, sender }) => {
	const c = JSON.parse(m.content);
	if (m.message_type === 'file') {
		const got = await client.im.messageResource.get({ path: { message_id: m.message_id, file_key: c.file_key }, params: { type: 'file' } });
		const parts = [];
		for await (const part of got.getReadableStream()) parts.push(part);
		const up = await client.im.file.create({ data: { file_type: 'stream', file_name: c.file_name, file: Buffer.concat(parts) } });
		await to(m.chat_id, 'file', { file_key: up.file_key });
	} else if (c.text === 'card') {
		const sent = await to(m.chat_id, 'interactive', card('first', []));
		await client.im.message.patch({ path: { message_id: sent.data.message_id }, data: { content: JSON.stringify(card('**edited**', [button])) } });
	} else if (c.text === 'reply') {
		await client.im.message.reply({ path: { message_id: m.message_id }, data: { msg_type: 'text', content: JSON.stringify({ text: 'in the thread' }), reply_in_thread: true } });
	} else {
		const user = await client.contact.user.get({ path: { user_id: sender.sender_id.open_id }, params: { user_id_type: 'open_id' } });
		for (let i = 0; i < 2; i++) await to(m.chat_id, 'text', { text: user.data.user.name + ': ' + c.text }, m.message_id);
		const again = await client.im.message.get({ path: { message_id: m.message_id } });
		await client.im.messageReaction.create({ path: { message_id: again.data.items[0].message_id }, data: { reaction_type: { emoji_type: 'THUMBSUP' } } });
		const all = await client.im.messageReaction.list({ path: { message_id: m.message_id } });
		const mine = all.data.items.filter((r) => r.operator.operator_type === 'app');
		if (c.text === 'twice') await client.im.messageReaction.delete({ path: { message_id: m.message_id, reaction_id: mine[0].reaction_id } });
	}
};
const events = new lark.EventDispatcher({ logger }).register({
	'im.message.receive_v1': said,
	'card.action.trigger': async (p) => {
		await client.im.message.delete({ path: { message_id: p.context.open_message_id } });
		await to(p.context.open_chat_id, 'text', { text: 'pressed ' + p.action.value.say });
		return { toast: { type: 'info', content: 'seen' } };
	},
	'application.bot.menu_v6': async (p) => { await client.im.message.create({
		params: { receive_id_type: 'open_id' }, data: { receive_id: p.operator.operator_id.open_id, msg_type: 'text', content: JSON.stringify({ text: 'menu ' + p.event_key }) } }); },
});
new lark.WSClient({ ...app, onReady: () => console.log('ready'), onError: (e) => console.log('error: ' + e.message) }).start({ eventDispatcher: events });
`

func TestTheOfficialClientUnderstandsTheDouble(t *testing.T) {
	dir := npmtest.Install(t, client, clientVersion)
	s := feishutest.New(secret)
	defer s.Close()
	s.Name(owner, "alice")
	if line := npmtest.Serve(t, dir, echo, s.URL, "wrong"); !strings.Contains(line, "code=514") {
		t.Errorf("with a wrong secret the client said %q", line)
	}
	if line := npmtest.Serve(t, dir, echo, s.URL, secret); line != "ready" {
		t.Fatalf("the client said %q", line)
	}
	want := func(all ...string) {
		t.Helper()
		var got []string
		eventually.True(t, fmt.Sprintf("the chats have %q", all), func() bool {
			got = nil
			for _, m := range s.Sent() {
				got = append(got, m.Text)
			}
			return slices.Equal(got, all)
		})
	}
	acknowledged := func() {
		t.Helper()
		eventually.True(t, "the events are acknowledged", func() bool { return s.Pending() == 0 })
	}
	first := s.Say(feishutest.Says{User: owner, Text: "hello"})
	acknowledged()
	want("alice: hello") // once, for its uuid
	if got := s.Reactions(first); !slices.Equal(got, []string{"THUMBSUP"}) {
		t.Errorf("the message has the reactions %q", got)
	}
	s.Tear(3)
	second := s.Say(feishutest.Says{User: owner, Text: "twice"})
	acknowledged()
	want("alice: hello", "alice: twice")
	if got := s.Reactions(second); len(got) != 0 {
		t.Errorf("the message still has the reactions %q", got)
	}
	s.Tear(1)
	s.Say(feishutest.Says{User: owner, Text: "card"})
	acknowledged()
	want("alice: hello", "alice: twice", "**edited**")
	if !s.Press(owner, s.Sent()[2].ID, "Yes") {
		t.Error("there is no button")
	}
	acknowledged()
	want("alice: hello", "alice: twice", "pressed yes")
	s.Say(feishutest.Says{User: owner, FileName: "a.txt", File: "content"})
	acknowledged()
	if last := s.Sent()[3]; last.FileName != "a.txt" || last.File != "content" {
		t.Errorf("the file came as %q with %q", last.FileName, last.File)
	}
	s.Drop()
	id := s.Say(feishutest.Says{User: owner, Chat: feishutest.Group, Text: "reply"}) // it waits for the next connection
	acknowledged()
	want("alice: hello", "alice: twice", "pressed yes", "", "in the thread")
	if m := s.Sent()[4]; m.Answers != id || !m.InThread || m.To != feishutest.Group {
		t.Errorf("the answer is %+v", m)
	}
	s.Choose(owner, "help")
	acknowledged()
	want("alice: hello", "alice: twice", "pressed yes", "", "in the thread", "menu help")
}
