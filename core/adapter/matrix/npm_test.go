package matrix

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gatewaytui/core/adapter/matrix/matrixtest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/npmtest"
)

// The official client: what it understands of the double, the adapter may rely on.
const (
	client        = "matrix-js-sdk"
	clientVersion = "37.13.0"
)

// echo is a bot with that client: it answers each message with the same text in the same place and puts a sign on it, edits and
// types, until its standard input ends.
const echo = `
// Node has this from version 22 on.
Promise.withResolvers ??= function () { let resolve, reject; const promise = new Promise((a, b) => { resolve = a; reject = b; }); return { promise, resolve, reject }; };
(async () => {
const sdk = await import('matrix-js-sdk');
const { logger } = await import('matrix-js-sdk/lib/logger.js');
logger.setLevel?.('silent');
const say = console.log;
console.log = console.info = console.warn = console.debug = () => {};
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
process.on('unhandledRejection', (e) => { console.error(String(e)); });
const [base, token, user] = process.argv.slice(1);
let ready = false;
const bot = sdk.createClient({ baseUrl: base, accessToken: token, userId: user });
try { await bot.whoami(); } catch (e) { say('whoami: ' + e.errcode); return; }
bot.on('RoomMember.membership', async (_, m) => {
	if (m.userId === user && m.membership === 'invite') { await bot.joinRoom(m.roomId); await bot.joinRoom(m.roomId); }
});
bot.on('Room.timeline', async (e, room, start) => {
	if (!ready || start || e.getSender() === user) return;
	const about = e.getRelation();
	if (e.getType() === 'm.reaction') { await bot.sendTextMessage(room.roomId, 'pressed ' + about.key); return; }
	if (e.getType() !== 'm.room.message' || about?.rel_type === 'm.replace') return;
	const text = e.getContent().body;
	await bot.sendTyping(room.roomId, true, 20000);
	const thread = about?.rel_type === 'm.thread' ? about.event_id : null;
	const content = { msgtype: 'm.text', body: text };
	if (e.getContent().url) {
		const kept = await bot.uploadContent(Buffer.from('content'), { name: 'a.txt', type: 'text/plain' });
		Object.assign(content, { msgtype: 'm.file', url: kept.content_uri, filename: 'a.txt' });
	}
	const sent = await bot.sendMessage(room.roomId, thread, content, 'once' + e.getId());
	const at = '/_matrix/client/v3/rooms/' + encodeURIComponent(room.roomId) + '/send/m.room.message/' + encodeURIComponent('once' + e.getId());
	const again = await (await fetch(base + at, { method: 'PUT', headers: { Authorization: 'Bearer ' + token }, body: '{"msgtype":"m.text","body":"again"}' })).json();
	if (again.event_id !== sent.event_id) throw new Error('sent twice');
	await bot.sendTyping(room.roomId, false, 0);
	if (text === 'edit') {
		await bot.sendMessage(room.roomId, { msgtype: 'm.text', body: '* edited', 'm.new_content': { msgtype: 'm.text', body: 'edited' },
			'm.relates_to': { rel_type: 'm.replace', event_id: sent.event_id } });
	}
	if (text === 'away') await bot.redactEvent(room.roomId, sent.event_id);
	await bot.sendEvent(room.roomId, 'm.reaction', { 'm.relates_to': { rel_type: 'm.annotation', event_id: e.getId(), key: '👀' } });
	const found = await bot.relations(room.roomId, e.getId(), 'm.annotation', 'm.reaction');
	const who = Object.keys((await bot.getJoinedRoomMembers(room.roomId)).joined).length;
	await bot.setAccountData('org.gatewaytui.seen', { reactions: found.events.length, members: who, text });
});
bot.once('sync', async (state) => { if (state !== 'PREPARED') return; ready = true; const me = await bot.getProfileInfo(user, 'displayname'); say('ready ' + me.displayname); });
await bot.startClient({ initialSyncLimit: 1, pollTimeout: 20000 });
})();
`

func TestTheOfficialClientUnderstandsTheDouble(t *testing.T) {
	dir := npmtest.Install(t, client, clientVersion)
	s := matrixtest.New(token)
	defer s.Close()
	if line := npmtest.Serve(t, dir, echo, s.URL, "wrong", matrixtest.BotID); line != "whoami: M_UNKNOWN_TOKEN" {
		t.Errorf("with a wrong token the client said %q", line)
	}
	s.Say(matrixtest.Says{User: owner, Name: "alice", Text: "old"})
	if line := npmtest.Serve(t, dir, echo, s.URL, token, matrixtest.BotID); line != "ready "+matrixtest.BotName {
		t.Fatalf("the client said %q", line)
	}
	seen := func(text string) func() bool {
		want := fmt.Sprintf(`{"reactions":1,"members":2,"text":%q}`, text)
		return func() bool { return string(s.Kept("org.gatewaytui.seen")) == want }
	}
	texts := func() (out []string) {
		for _, m := range s.Sent() {
			out = append(out, m.Text)
		}
		return out
	}
	id := s.Say(matrixtest.Says{User: owner, Name: "alice", Text: "hello"})
	eventually.True(t, "the first message is answered", seen("hello"))
	if got := s.Reactions(dm, id); !slices.Equal(got, []string{"👀"}) || s.Types(dm) {
		t.Errorf("the message has %q, the bot types: %t", got, s.Types(dm))
	}
	const room = "!new:example.org"
	s.Invite(room, owner, "alice")
	eventually.True(t, "the invitation is accepted", func() bool { return s.Joined(room) })
	s.Say(matrixtest.Says{User: owner, Name: "alice", Room: room, Text: "edit", Thread: "$root"})
	eventually.True(t, "the message in a thread is answered", seen("edit"))
	s.Say(matrixtest.Says{User: owner, Name: "alice", Text: "away"})
	eventually.True(t, "the answer is taken away", seen("away"))
	s.Fail(anyRoom+dm+"/send/", matrixtest.Fault{Status: 429, Code: codeLimit, RetryAfter: 200 * time.Millisecond, Times: 2})
	s.Say(matrixtest.Says{User: owner, Name: "alice", Text: "limited", File: "b.txt", Content: "x"})
	eventually.True(t, "the client waits for the limit", seen("limited"))
	if want := []string{"hello", "edited", "limited"}; !slices.Equal(texts(), want) {
		t.Errorf("the client sent %q, want %q", texts(), want)
	}
	sent := s.Sent()
	if last := sent[len(sent)-1]; last.FileName != "a.txt" || last.File != "content" || sent[1].Thread != "$root" || sent[1].Room != room {
		t.Errorf("the client sent %+v", sent)
	}
	s.React(dm, owner, sent[0].ID, "Yes")
	eventually.True(t, "the reaction is seen", func() bool { return slices.Contains(texts(), "pressed Yes") })
}
