package botapitest_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/npmtest"
)

// A widely used client: what it understands of the double, the adapter may rely on.
const (
	client        = "grammy"
	clientVersion = "1.46.0"
)

// echo is a bot with that client: it shows what it understood of each message and does what the text says, until its standard input
// ends.
const echo = `
const { Bot, InlineKeyboard, InputFile, GrammyError } = require('grammy');
const [root, token] = process.argv.slice(1);
const bot = new Bot(token, { client: { apiRoot: root } });
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
const said = (e) => e instanceof GrammyError ? e.error_code + ' ' + e.description : String(e);
const fetched = async (ctx) => {
	const f = await ctx.getFile();
	return await (await fetch(root + '/file/bot' + token + '/' + f.file_path)).text();
};
bot.command('keys', (ctx) => ctx.reply('press', { reply_markup: new InlineKeyboard().text('Yes', 'yes!').text('No', 'no!') }));
bot.command('edit', async (ctx) => {
	const m = await ctx.reply('draft', { reply_markup: new InlineKeyboard().text('Stop', 'stop') });
	await ctx.api.sendChatAction(ctx.chat.id, 'typing');
	await ctx.api.editMessageText(ctx.chat.id, m.message_id, 'bold', { entities: [{ type: 'bold', offset: 0, length: 4 }] });
	const gone = await ctx.reply('gone');
	await ctx.api.deleteMessage(ctx.chat.id, gone.message_id);
});
bot.command('draft', async (ctx) => {
	const shown = { chat_id: ctx.chat.id, draft_id: 5 };
	await ctx.api.raw.sendMessageDraft({ ...shown, text: '' });
	await ctx.api.raw.sendMessageDraft({ ...shown, text: 'bold', entities: [{ type: 'bold', offset: 0, length: 4 }] });
	for (const wrong of [{ text: 'x', draft_id: 0 }, { text: 'x', chat_id: -100 }, { text: 'x'.repeat(4097) }]) {
		try { await ctx.api.raw.sendMessageDraft({ ...shown, ...wrong }); } catch (e) { await ctx.reply(said(e)); }
	}
});
bot.command('sign', async (ctx) => {
	await ctx.react('👀');
	try { await ctx.react('✅'); } catch (e) { await ctx.reply(said(e)); }
});
bot.command('menu', async (ctx) => {
	await ctx.api.setMyCommands([{ command: 'keys', description: 'show keys' }]);
	await ctx.reply((await ctx.api.getMyCommands()).map((c) => c.command).join());
});
bot.command('send', async (ctx) => {
	const png = new InputFile(Buffer.from(ctx.match, 'base64'), 'dot.png');
	const m = await ctx.replyWithPhoto(png, { caption: 'a dot' });
	const d = await ctx.replyWithDocument(new InputFile(Buffer.from('content'), 'a.txt'), { reply_parameters: { message_id: m.message_id } });
	const back = await ctx.api.getFile(d.document.file_id);
	await ctx.reply(d.document.file_name + ' ' + back.file_size + ' ' + m.photo.length);
	try { await ctx.replyWithPhoto(new InputFile(Buffer.from('none'), 'x.png')); } catch (e) { await ctx.reply(said(e)); }
});
bot.on('callback_query:data', async (ctx) => {
	await ctx.answerCallbackQuery({ text: 'seen ' + ctx.callbackQuery.data, show_alert: true });
	await ctx.editMessageText('pressed ' + ctx.callbackQuery.data);
});
bot.on('message:photo', async (ctx) => ctx.reply('photo ' + (await fetched(ctx)) + ' ' + (ctx.msg.media_group_id ? 'album' : 'alone') + ' ' + (ctx.msg.caption ?? '')));
bot.on(['message:document', 'message:voice'], async (ctx) => {
	try { await ctx.reply('file ' + (await fetched(ctx))); } catch (e) { await ctx.reply(said(e)); }
});
bot.on('message:text', (ctx) => ctx.reply(ctx.msg.text, { reply_parameters: { message_id: ctx.msg.message_id }, message_thread_id: ctx.msg.message_thread_id }));
bot.catch((e) => console.error(said(e.error)));
bot.start({ onStart: (me) => console.log('ready ' + me.username) }).catch((e) => console.log('start: ' + said(e)));
`

// dot is a picture of one pixel.
func dot(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAWidelyUsedClientUnderstandsTheDouble(t *testing.T) {
	dir := npmtest.Install(t, client, clientVersion)
	s := start(t)
	if line := npmtest.Serve(t, dir, echo, s.URL, "2:x"); line != "start: 401 Unauthorized" {
		t.Errorf("with a wrong token the client said %q", line)
	}
	if line := npmtest.Serve(t, dir, echo, s.URL, "1:t"); line != "ready "+botapitest.BotName {
		t.Fatalf("the client said %q", line)
	}
	texts := func() (out []string) {
		for _, m := range s.Sent() {
			out = append(out, m.Text)
		}
		return out
	}
	done := 0 // messages that the bot has sent
	want := func(of string, all ...string) {
		t.Helper()
		eventually.True(t, of, func() bool { // some are drafts for a moment, or are removed
			now := texts()
			return len(now) >= done && slices.Equal(now[done:], all)
		})
		done += len(all)
	}
	say := func(u botapitest.Update) int64 {
		u.User = 7
		return s.Inject(u)
	}
	command := func(text string) map[string]any {
		word, _, _ := strings.Cut(text, " ")
		return map[string]any{"text": text, "entities": []any{map[string]any{"type": "bot_command", "offset": 0, "length": len(word)}}}
	}

	id := say(botapitest.Update{Chat: -100, Thread: 9, Text: "hello"})
	want("a message of a topic is answered", "hello")
	if m := s.Sent()[0]; m.ChatID != -100 || m.ThreadID != 9 || m.ReplyTo != id {
		t.Errorf("the answer is %+v", m)
	}
	say(botapitest.Update{Message: command("/edit")})
	want("a message is edited, another removed", "bold")
	if m := s.Sent()[done-1]; m.Entities == "" || m.Buttons != "" || len(s.Actions()) != 1 {
		t.Errorf("the edited message is %+v, actions %v", m, s.Actions())
	}
	say(botapitest.Update{Message: command("/draft")})
	want("drafts are not messages, and have bounds", "400 Bad Request: invalid draft_id specified", "400 Bad Request: chat not found", "400 Bad Request: message is too long")
	if d := s.Drafts(); len(d) != 2 || d[0].Text != "" || d[1].Text != "bold" || d[1].Entities == "" || d[1].ID != 5 || d[1].ChatID != 7 {
		t.Errorf("the drafts are %+v", d)
	}
	say(botapitest.Update{Message: command("/menu")})
	want("the menu is set", "keys")
	id = say(botapitest.Update{Message: command("/sign")})
	want("a sign that Telegram has not is refused", "400 Bad Request: REACTION_INVALID")
	if got := s.Reaction(7, id); got != "👀" {
		t.Errorf("the message has the sign %q", got)
	}

	say(botapitest.Update{Message: command("/keys")})
	want("keys are shown", "press")
	if !s.Press(7, 0, "Yes") || s.Press(7, 0, "Maybe") {
		t.Fatal("the keys are not those that the client sent")
	}
	eventually.True(t, "the press is answered", func() bool { return slices.Contains(texts(), "pressed yes!") })
	if got := s.Answers(); len(got) != 1 || got[0] != (botapitest.Answer{Text: "seen yes!", Alert: true}) {
		t.Errorf("the answer to the press is %+v", got)
	}

	s.Album(botapitest.Update{User: 7}, map[string]any{"photo": s.Photo("one"), "caption": "look"}, map[string]any{"photo": s.Photo("two")})
	want("the pictures of an album are fetched", "photo one album look", "photo two album ")
	say(botapitest.Update{Message: map[string]any{"voice": s.Document("", "audio/ogg", "spoken")}})
	say(botapitest.Update{Message: map[string]any{"document": s.Large("film.mkv", 20<<20+1)}})
	want("files are fetched up to the limit", "file spoken", "400 Bad Request: file is too big")

	say(botapitest.Update{Message: command("/send " + base64.StdEncoding.EncodeToString(dot(t)))})
	want("files are sent", "a dot", "", "a.txt 7 2", "400 Bad Request: IMAGE_PROCESS_FAILED")
	sent := s.Sent()[done-4:]
	if p, d := sent[0], sent[1]; p.Kind != "photo" || p.File != string(dot(t)) || d.Kind != "document" || d.FileName != "a.txt" || d.File != "content" || d.ReplyTo == 0 {
		t.Errorf("the chat has %+v and %+v", p, d)
	}

	s.Fail("sendMessage", botapitest.Fault{Code: 403, Times: 1})
	say(botapitest.Update{Text: "blocked"})
	say(botapitest.Update{Text: "last"})
	want("a refusal ends nothing", "last")
}
