package mail

import (
	"net"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/adapter/mail/mailtest"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/npmtest"
)

// The clients of others: what they understand of the double, the adapter may rely on.
const (
	reader        = "imapflow"
	readerVersion = "2.10.2"
	sender        = "nodemailer@10.6.0"
)

// echo is a bot with those clients: it answers each unread mail in its thread with the same text and file and marks it as read,
// until its standard input ends.
const echo = `
const { ImapFlow } = require('imapflow');
const nodemailer = require('nodemailer');
const [imap, smtp, user, pass] = process.argv.slice(1);
const out = nodemailer.createTransport({ host: '127.0.0.1', port: smtp, auth: { user, pass }, ignoreTLS: true });
const box = new ImapFlow({ host: '127.0.0.1', port: imap, secure: false, doSTARTTLS: false, auth: { user, pass }, logger: false });
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
process.on('unhandledRejection', (e) => { console.error(String(e)); });
box.on('error', (e) => console.error(String(e)));
(async () => {
	try { await out.verify(); await box.connect(); } catch (e) { console.log('login: ' + (e.authenticationFailed || e.responseCode)); return; }
	const folder = await box.mailboxOpen('INBOX');
	console.log('ready ' + folder.path + ' ' + box.capabilities.has('IDLE'));
	let busy = Promise.resolve();
	const look = () => { busy = busy.then(async () => {
		for (const uid of await box.search({ seen: false }, { uid: true })) {
			const m = await box.fetchOne(uid, { envelope: true, bodyStructure: true }, { uid: true });
			const parts = m.bodyStructure.childNodes || [m.bodyStructure];
			const read = async (p) => { const { content } = await box.download(uid, p.part || '1', { uid: true }); let all = ''; for await (const c of content) all += c; return all; };
			const file = parts.find((p) => p.disposition === 'attachment');
			await out.sendMail({
				from: user, to: m.envelope.from[0].address, subject: 'Re: ' + m.envelope.subject, text: (await read(parts[0])).trim(), inReplyTo: m.envelope.messageId,
				attachments: file ? [{ filename: file.dispositionParameters.filename, content: await read(file) }] : [],
			});
			await box.messageFlagsAdd(uid, ['\\Seen'], { uid: true });
		}
		box.idle().catch(() => {}); // until the next command
	}).catch((e) => console.error(String(e))); };
	box.on('exists', look);
	look();
})();
`

func TestTheClientsOfOthersUnderstandTheDouble(t *testing.T) {
	dir := npmtest.Install(t, reader, readerVersion, sender)
	s := mailtest.New(password, mailtest.Options{})
	defer s.Close()
	_, imap, _ := net.SplitHostPort(s.IMAP)
	_, smtp, _ := net.SplitHostPort(s.SMTP)
	if line := npmtest.Serve(t, dir, echo, imap, smtp, mailtest.Bot, "wrong"); line != "login: 535" {
		t.Errorf("with a wrong password the client said %q", line)
	}
	early := s.Say(mailtest.Says{From: owner, Name: "Alice", Subject: "=?utf-8?q?Gr=C3=BC=C3=9Fe?=", Text: "before"})
	if line := npmtest.Serve(t, dir, echo, imap, smtp, mailtest.Bot, password); line != "ready INBOX true" {
		t.Fatalf("the client said %q", line)
	}
	eventually.True(t, "the first mail is answered", func() bool { return s.Seen(early) })
	late := s.Say(mailtest.Says{From: owner, Subject: "Ships", Text: "grüße", Answers: early, Files: map[string]string{"a.txt": "content"}})
	eventually.True(t, "the second mail is answered", func() bool { return s.Seen(late) })
	sent := s.Sent()
	if len(sent) != 2 {
		t.Fatalf("the client sent %d mails, want 2", len(sent))
	}
	if m := sent[0]; m.Subject != "Re: Grüße" || strings.TrimSpace(m.Text) != "before" || m.InReplyTo != early || !slices.Equal(m.To, []string{owner}) || m.From != mailtest.Bot {
		t.Errorf("the client sent %+v", m)
	}
	if m := sent[1]; strings.TrimSpace(m.Text) != "grüße" || !slices.Equal(m.Files, []mailtest.File{{Name: "a.txt", Type: "text/plain", Content: "content"}}) {
		t.Errorf("the client sent %+v", m)
	}
}
