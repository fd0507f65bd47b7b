package mail

import (
	"bytes"
	"encoding/base64"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/mail/mailtest"
)

// parsed is what a mail of the owner with these lines of a header and this text is to the bot.
func parsed(t *testing.T, header, text string) event {
	t.Helper()
	p := New(Options{User: mailtest.Bot})
	e := p.parse(strings.NewReader("From: "+owner+"\r\n"+header+"\r\n\r\n"+strings.ReplaceAll(text, "\n", "\r\n")), "1/7")
	if e.ignored != "" {
		t.Fatalf("the mail is ignored: %s", e.ignored)
	}
	return e
}

func TestWhatAMailSays(t *testing.T) {
	const alternative = "Content-Type: multipart/alternative; boundary=b"
	for _, tc := range []struct{ name, header, text, want string }{
		{"a mail without a type", "", "hello", "hello"},
		{"Latin 1", "Content-Type: text/plain; charset=iso-8859-1", "gr\xfc\xdfe", "grüße"},
		{"Windows 1252", "Content-Type: text/plain; charset=windows-1252", "\x93ok\x94 \x80", "“ok” €"},
		{"Shift JIS", "Content-Type: text/plain; charset=shift_jis", "\x93\xfa\x96{", "日本"},
		{"a charset that nothing knows", "Content-Type: text/plain; charset=x-none", "a\xffb", "a\uFFFDb"},
		{"quoted-printable", "Content-Transfer-Encoding: quoted-printable", "gr=C3=BC=\n=C3=9Fe", "grüße"},
		{"base64", "Content-Transfer-Encoding: BASE64", "aGVs\nbG8=", "hello"},
		{"flowed text", "Content-Type: text/plain; format=flowed", "one \ntwo\n three", "one two\nthree"},
		{"flowed text without its blanks", "Content-Type: text/plain; format=flowed; delsp=yes", "日 \n本", "日本"},
		{"the plain text of two", alternative, "--b\nContent-Type: text/plain\n\nplain\n--b\nContent-Type: text/html\n\n<p>html</p>\n--b--", "plain"},
		{"HTML with a blank text", alternative, "--b\nContent-Type: text/plain\n\n \n--b\nContent-Type: text/html\n\n<p>one</p><p><b>two</b> &amp; three</p>\n--b--", "one\n\ntwo & three"},
		{"HTML alone", "Content-Type: text/html; charset=utf-8", "<style>p{}</style><script>x</script><ul><li>one<li>two</ul>", "- one\n- two"},
		{"an encoded subject", "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= =?iso-8859-1?q?_=FC?=", "hello", "Subject: Grüße ü\n\nhello"},
		{"a subject with an escape", "Subject: \x1b[31mred\u202e", "hello", "Subject: ␛[31mred\n\nhello"},
		{"a part without an end", alternative, "--b\nContent-Type: text/plain\n\nplain", "plain"},
		{"a boundary that is missing", "Content-Type: multipart/mixed", "text", ""},
		{"an invalid type", "Content-Type: ;;;", "text", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := parsed(t, tc.header, tc.text).message.Text; got != tc.want {
				t.Errorf("the text is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTheTextOfEarlierMailsIsLeftOut(t *testing.T) {
	const reply = "In-Reply-To: <1@x>"
	for _, tc := range []struct{ name, header, text, want, quoted string }{
		{"a quote below", reply, "yes\n\nOn Mon, Nov 23, 2026 at 4:47 AM Bot <bot@x>\nwrote:\n\n> shall I?\n> really?", "yes", "shall I?\nreally?"},
		{"a quote in German", reply, "ja\n\nAm 23.11.26 um 04:47 schrieb Bot:\n> soll ich?", "ja", "soll ich?"},
		{"an answer between quotes", reply, "Bot wrote on 3 May:\n> one?\nyes\n> two?\nno", "yes\nno", "one?\ntwo?"},
		{"Outlook", reply, "yes\n\n-----Original Message-----\nFrom: Bot\nSent: Monday\n\nshall I?", "yes", "-----Original Message-----\nFrom: Bot\nSent: Monday\n\nshall I?"},
		{"Outlook with a line", reply, "yes\n\n________________________________\nFrom: Bot <bot@x>\nSent: Monday\nTo: Alice\nSubject: Ships\n\nshall I?", "yes", "________________________________\nFrom: Bot <bot@x>\nSent: Monday\nTo: Alice\nSubject: Ships\n\nshall I?"},
		{"a signature", reply, "yes\n-- \nAlice\nHead of Ships", "yes", ""},
		{"a signature above the quote", reply, "yes\n-- \nAlice\n\n> shall I?", "yes", "shall I?"},
		{"a first mail that quotes Outlook", "", "what is this?\n-----Original Message-----\nFrom: Eve", "what is this?\n-----Original Message-----\nFrom: Eve", ""},
		{"a text with a colon above a quote", reply, "I mean this:\n> shall I?", "I mean this:", "shall I?"},
		{"a line that begins with From", reply, "From: here to there\nit is far", "From: here to there\nit is far", ""},
		{"a command", reply, "/approve 7k2\n\nOn 1 May Bot <bot@x> wrote:\n> /approve 7k2 or /deny 7k2", "/approve 7k2", "/approve 7k2 or /deny 7k2"},
		{"HTML of Gmail", reply + "\r\nContent-Type: text/html", `<div>yes</div><div class="gmail_quote"><div class="gmail_attr">On Monday wrote:</div><blockquote>shall I?</blockquote></div>`, "yes", "On Monday wrote:\n\nshall I?"},
		{"an answer to the bot", "In-Reply-To: <gatewaytui.0123456789abcdef.0123456789abcdef01234567@x>", "yes\n> shall I?", "yes", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if m := parsed(t, tc.header, tc.text).message; m.Text != tc.want || m.Quoted != tc.quoted {
				t.Errorf("the text is %q, the quote %q; want %q, %q", m.Text, m.Quoted, tc.want, tc.quoted)
			}
		})
	}
}

func TestAMailIsBounded(t *testing.T) {
	long := parsed(t, "", strings.Repeat("word ", maxText))
	if n := len(long.message.Text); n > maxText+100 || !strings.HasSuffix(long.message.Text, "[The mail is longer. This is its beginning.]") {
		t.Errorf("the text has %d bytes", n)
	}
	var deep strings.Builder
	for range 100 {
		deep.WriteString("Content-Type: multipart/mixed; boundary=b\n\n--b\n")
	}
	parsed(t, strings.TrimSuffix(deep.String(), "\n"), "hello")
	parts := strings.Repeat("--b\nContent-Disposition: attachment\n\nx\n", 5000)
	if n := len(parsed(t, "Content-Type: multipart/mixed; boundary=b", parts).message.Files); n != maxFiles {
		t.Errorf("the mail has %d files, want %d", n, maxFiles)
	}
	p := New(Options{User: mailtest.Bot})
	endless := io.MultiReader(strings.NewReader("From: "+owner+"\r\n"), &repeats{"X-Field: " + strings.Repeat("x", 1000) + "\r\n", 0})
	if e := p.parse(endless, "1/7"); e.ignored == "" {
		t.Error("a header without an end is read")
	}
	if e := p.parse(strings.NewReader("References: "+strings.Repeat("<1@x> ", 5000)+"\r\nFrom: "+owner+"\r\n\r\nx"), "1/7"); e.ignored != "" || len(e.message.Target) > 2000 {
		t.Errorf("a mail with many References is %+v", e)
	}
}

// repeats is a text without an end.
type repeats struct {
	text string
	at   int
}

func (r *repeats) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at%len(r.text)]
		r.at++
	}
	return len(p), nil
}

func TestWhoSentAMail(t *testing.T) {
	p := New(Options{User: mailtest.Bot})
	for _, tc := range []struct{ name, from, user, sender string }{
		{"a name and an address", "Alice <alice@people.example>", "Alice (alice@people.example)", "Alice"},
		{"an encoded name", "=?utf-8?q?J=C3=BCrgen?= <J@People.Example>", "Jürgen (j@people.example)", "Jürgen"},
		{"an address alone", "alice@people.example", "alice@people.example", "alice@people.example"},
		{"a name that looks like an address", `"root (root@people.example)" <eve@people.example>`, "root (root@people.example) (eve@people.example)", "root (root@people.example)"},
		{"a name with an escape", "=?utf-8?q?=1B[31mAlice?= <alice@people.example>", "", ""},
		{"two senders", "alice@people.example, eve@people.example", "", ""},
		{"a quoted address", `"a(alice@people.example"@eve.example`, "", ""},
		{"an address with a colon", "a:b@people.example", "", ""},
		{"a group", "undisclosed: alice@people.example;", "alice@people.example", "alice@people.example"},
		{"nothing", "", "", ""},
	} {
		e := p.parse(strings.NewReader("From: "+tc.from+"\r\n\r\nhello"), "1/1")
		if e.message.User != tc.user || e.message.Sender != tc.sender || (tc.user == "") != (e.ignored != "") {
			t.Errorf("%s: %q is %q, called %q, ignored: %s", tc.name, tc.from, e.message.User, e.message.Sender, e.ignored)
		}
	}
}

func TestFilesOfAMail(t *testing.T) {
	picture := base64.StdEncoding.EncodeToString([]byte("picture"))
	e := parsed(t, "Content-Type: multipart/mixed; boundary=b", strings.Join([]string{
		"--b", "Content-Type: text/plain", "", "look",
		"--b", `Content-Type: image/png; name="=?utf-8?q?sch=C3=B6n.png?="`, "Content-Transfer-Encoding: base64", "", picture,
		"--b", `Content-Type: application/x-sh`, `Content-Disposition: attachment; filename="=?utf-8?q?../../etc/pass=1Bwd?="`, "", "x",
		"--b", `Content-Disposition: attachment; filename*=utf-8''%e2%82%ac.txt`, "", "euro",
		"--b", "Content-Type: message/rfc822", "", "From: x@y", "", "inner",
		"--b--",
	}, "\n"))
	var names []string
	var sizes []int64
	for _, f := range e.message.Files {
		names, sizes = append(names, f.Name), append(sizes, f.Size)
	}
	if want := []string{"schön.png", "pass␛wd", "€.txt", "message.eml"}; !slices.Equal(names, want) || !slices.Equal(sizes, []int64{7, 1, 4, 18}) || e.message.Text != "look" {
		t.Errorf("the files are %q with %d bytes, the text is %q", names, sizes, e.message.Text)
	}
	if e.message.Files[0].Ref != "1/7/1" || e.message.Files[0].Type != "image/png" {
		t.Errorf("the first file is %+v", e.message.Files[0])
	}
}

func TestAVoiceMessageIsAFileThatWasSpoken(t *testing.T) {
	sound := "--b\nContent-Type: audio/ogg\nContent-Transfer-Encoding: base64\n\nT2dn\n--b--"
	for name, tc := range map[string]struct {
		header, text string
		want         bool
	}{
		"RFC 3801":             {"Content-Type: multipart/voice-message; boundary=b", sound, true},
		"RFC 3458":             {"Message-Context: voice-message\r\nContent-Type: multipart/mixed; boundary=b", sound, true},
		"RFC 2421":             {"Content-Type: multipart/mixed; boundary=b", "--b\nContent-Type: audio/ogg\nContent-Disposition: inline; voice=Voice-Message; filename=m.ogg\n\nx\n--b--", true},
		"a file with a sound":  {"Content-Type: multipart/mixed; boundary=b", sound, false},
		"a voice that is text": {"Message-Context: voice-message\r\nContent-Type: multipart/mixed; boundary=b", "--b\nContent-Type: text/plain; name=x\n\nx\n--b--", false},
	} {
		if files := parsed(t, tc.header, tc.text).message.Files; len(files) != 1 || files[0].Spoken != tc.want {
			t.Errorf("%s: the files are %+v", name, files)
		}
	}
}

func TestTR1_WhichServersConfirmASender(t *testing.T) {
	for _, tc := range []struct {
		name, field string
		want        bool
	}{
		{"DMARC", "mx.a; dmarc=pass header.from=people.example", true},
		{"DMARC with comments and a version", "mx.a 1; (checked) dmarc/1=pass (p=reject dis=none) header.from=People.Example", true},
		{"DKIM of the domain", "mx.a; dkim=pass header.d=people.example header.s=s1", true},
		{"DKIM of the domain above", "mx.a; dkim=pass header.i=@example.org; dkim=pass header.d=people.example", true},
		{"SPF of the domain", "mx.a; spf=pass smtp.mailfrom=bounces@people.example", true},
		{"one of several", "mx.a; spf=fail smtp.mailfrom=people.example; dkim=pass header.d=people.example", true},
		{"another server", "mx.b; dmarc=pass header.from=people.example", false},
		{"a server that begins so", "mx.a.eve.example; dmarc=pass header.from=people.example", false},
		{"nothing was checked", "mx.a; none", false},
		{"a failure", "mx.a; dmarc=fail header.from=people.example", false},
		{"DMARC of another domain", "mx.a; dmarc=pass header.from=eve.example", false},
		{"DKIM of another domain", "mx.a; dkim=pass header.d=eve.example", false},
		{"DKIM of a domain that ends so", "mx.a; dkim=pass header.d=le.example", false},
		{"DKIM of a top-level domain", "mx.a; dkim=pass header.d=example", false},
		{"SPF of another domain", "mx.a; spf=pass smtp.mailfrom=eve@eve.example", false},
		{"SPF of a host name", "mx.a; spf=pass smtp.helo=people.example", false},
		{"a pass in a comment", "mx.a; dmarc=fail (dmarc=pass) header.from=people.example", false},
		{"a pass in a quoted address", `mx.a; spf=pass smtp.mailfrom="x; dmarc=pass header.from=people.example"@eve.example`, false},
		{"a property twice", "mx.a; dmarc=pass header.from=people.example header.from=eve.example", false},
		{"a comment without an end", "mx.a; dmarc=pass (header.from=people.example", false},
		{"no text", "", false},
	} {
		if got := authentic(map[string][]string{"Authentication-Results": {tc.field}}, "MX.a", owner); got != tc.want {
			t.Errorf("%s: the sender is confirmed: %t", tc.name, got)
		}
	}
	if authentic(nil, "mx.a", owner) {
		t.Error("a mail without a result is confirmed")
	}
}

func TestTargetsAreRead(t *testing.T) {
	c, about := chat{owner, "0123456789abcdef"}, mailed{"<1@x>", "<2@x>", "Ships & 50 % #1", stranger}
	text := target(c, about)
	if adapter.ChatOf(text) != c.String() {
		t.Errorf("the chat of %q is %q", text, adapter.ChatOf(text))
	}
	if gotChat, gotAbout, err := parseTarget(text); err != nil || gotChat != c || gotAbout != about {
		t.Errorf("read %+v, %+v: %v", gotChat, gotAbout, err)
	}
	for _, bad := range []string{"", "1", "a b@x", "alice@people.example/..", "alice@people.example\r\nBcc: eve@x.example", owner + "/0123456789ABCDEF", owner + "#%zz"} {
		if _, _, err := parseTarget(bad); err == nil {
			t.Errorf("%q is a target", bad)
		}
	}
	if _, about, err := parseTarget(owner + "#id=%3C1@x%3E%0d%0aBcc:%20eve@x&subject=a%0d%0aBcc:%20eve@x"); err != nil || about.id != "<1@x>" || strings.ContainsAny(about.subject, "\r\n") {
		t.Errorf("read %+v: %v", about, err)
	}
}

func FuzzAMailIsRead(f *testing.F) {
	for _, m := range []mailtest.Says{
		{From: owner, Subject: "=?utf-8?q?x?=", Text: "hello\n> quote\n-- \nAlice"},
		{From: owner, HTML: "<p>hello<blockquote type=cite>x", Answers: "<1@x>", Files: map[string]string{"a.txt": "content"}},
	} {
		raw := mailtest.Text(m)
		f.Add([]byte(raw))
	}
	f.Add([]byte("From: a@b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n--b--"))
	p := New(Options{User: mailtest.Bot, Groups: []string{team}, AuthServer: "mx.a"})
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := p.parse(bytes.NewReader(raw), "1/7")
		if e.ignored != "" {
			return
		}
		if address(e.from) != e.from || e.from == "" || !strings.HasSuffix(e.message.Session, e.chat.thread) || len(e.message.Session) > 256 {
			t.Errorf("the mail is of %q, in %q", e.from, e.message.Session)
		}
		c, about, err := parseTarget(e.message.Target)
		if err != nil || c != e.chat || about.id != e.about.id || strings.ContainsAny(about.subject, "\r\n\x1b") {
			t.Errorf("the target %q is read as %+v, %+v: %v", e.message.Target, c, about, err)
		}
		for i := range e.message.Files {
			if _, has := fileOf(bytes.NewReader(raw), i+1, maxMail); !has {
				t.Logf("file %d cannot be read", i+1) // its encoding is broken
			}
		}
		d := draft{from: mailtest.Bot, to: []string{c.to}, id: "<1@x>", about: about, subject: subjectOf(about, e.message.Text), at: time.Unix(0, 0), plain: e.message.Text, html: formatted(e.message.Text)}
		text, err := d.write()
		if err != nil {
			t.Fatal(err)
		}
		if read, err := mailtest.Read(text); err != nil || len(read.Header.Values("Subject")) != 1 || read.Header.Get("Bcc") != "" {
			t.Errorf("the answer is not a mail: %v\n%s", err, text)
		}
	})
}

func FuzzAuthenticationResultsAreRead(f *testing.F) {
	f.Add("mx.a; dmarc=pass (x) header.from=people.example")
	f.Add(`mx.a 1; spf=pass smtp.mailfrom="a b"@x; none`)
	f.Fuzz(func(t *testing.T, text string) {
		id, results, ok := authResults(text)
		if !ok && (id != "" || results != nil) {
			t.Errorf("%q counts for something", text)
		}
		for _, r := range results {
			if r.method == "" || r.properties == nil {
				t.Errorf("%q has the result %+v", text, r)
			}
		}
	})
}
