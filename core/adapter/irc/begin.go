package irc

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/adapter"
)

// wanted are the capabilities that the bot asks for, without sasl, as far as the server has them (https://ircv3.net/irc/).
var wanted = []string{"account-tag", "echo-message", "message-tags", "server-time"}

// maxAuthenticate is how much of a login stands in one line (https://ircv3.net/specs/extensions/sasl-3.1).
const maxAuthenticate = 400

// beginning is a connection that the server has not let in yet.
type beginning struct {
	// only means that the connection ends after the login.
	only bool
	// answered means that the server knows capabilities or has shown that it does not, and named that the bot has said its name.
	answered, named bool
	offered         map[string]string
	done            chan<- error // of one
}

// finish ends the beginning. mu is held.
func (c *conn) finish(err error) {
	if c.begin != nil {
		c.begin.done <- err
		c.begin = nil
	}
}

// unheard goes on where the server says nothing about capabilities. mu is held.
func (c *conn) unheard() {
	if c.begin != nil && !c.begin.answered {
		c.register(false)
	}
}

// register says who the bot is; mu is held. caps means that the server waits for the end of the capabilities.
func (c *conn) register(caps bool) {
	b := c.begin
	if b.named {
		return
	}
	b.answered, b.named = true, true
	if b.only {
		c.finish(nil)
		return
	}
	if c.p.o.Password != "" && !c.caps["sasl"] {
		c.push("PASS :" + c.p.o.Password)
	}
	c.push("NICK " + c.p.o.Nick)
	c.push("USER " + c.p.o.Nick + " 0 * :" + c.p.o.Nick)
	if caps {
		c.push("CAP END")
	}
}

// takeBeginning takes a line while the server has not let the bot in; mu is held.
func (c *conn) takeBeginning(m message) {
	why := c.words.Clean(m.last())
	switch m.command {
	case "CAP":
		c.takeCapabilities(m)
	case "AUTHENTICATE":
		c.authenticate()
	case "903":
		c.register(true)
	case "902", "904", "905", "906", "908":
		c.finish(c.credentials("the server refuses the login: " + why))
	case "464":
		c.finish(c.credentials("the server refuses the password: " + why))
	case "421", "451": // it knows no CAP
		c.unheard()
	case "001":
		c.nick = m.param(0)
	case "005":
		c.takeFeatures(m)
	case "376", "422": // the end of its greeting
		c.finish(nil)
	case "433", "436":
		c.finish(&adapter.ConflictError{Why: fmt.Sprintf("the nick %s is in use: %s", c.p.o.Nick, why)})
	case "432", "437":
		c.finish(c.failed("begin", fmt.Errorf("the server does not take the nick %s (adapters.irc.nick): %s", c.p.o.Nick, why)))
	case "465", "466", "ERROR":
		c.finish(c.failed("begin", fmt.Errorf("the server closes the connection: %s", why)))
	}
}

// credentials says that the password will not do.
func (c *conn) credentials(why string) error {
	return &adapter.CredentialsError{Variable: c.p.o.PasswordSource, Why: why}
}

// takeCapabilities takes what the server can do, and its answer to what the bot wants of that
// (https://ircv3.net/specs/extensions/capability-negotiation).
func (c *conn) takeCapabilities(m message) {
	b := c.begin
	switch m.param(1) {
	case "LS":
		b.answered = true
		for name := range strings.FieldsSeq(m.last()) {
			name, value, _ := strings.Cut(name, "=")
			b.offered[name] = value
		}
		if m.param(2) == "*" && len(m.params) > 3 {
			return // it goes on
		}
		var ask []string
		for _, name := range wanted {
			if _, has := b.offered[name]; has {
				ask = append(ask, name)
			}
		}
		if ways, has := b.offered["sasl"]; has && c.p.o.Password != "" && (ways == "" || slices.Contains(strings.Split(strings.ToUpper(ways), ","), "PLAIN")) {
			ask = append(ask, "sasl")
		}
		if len(ask) == 0 {
			c.register(true)
			return
		}
		c.push("CAP REQ :" + strings.Join(ask, " "))
	case "ACK":
		for name := range strings.FieldsSeq(m.last()) {
			c.caps[name] = true
		}
		if c.caps["sasl"] {
			c.push("AUTHENTICATE PLAIN")
			return
		}
		c.register(true)
	case "NAK":
		c.register(true)
	}
}

// authenticate says the password (RFC 4616).
func (c *conn) authenticate() {
	if !c.caps["sasl"] || c.begin.named {
		return
	}
	text := base64.StdEncoding.EncodeToString([]byte(c.p.o.Nick + "\x00" + c.p.o.Nick + "\x00" + c.p.o.Password))
	for len(text) >= maxAuthenticate {
		c.push("AUTHENTICATE " + text[:maxAuthenticate])
		text = text[maxAuthenticate:]
	}
	if text == "" {
		text = "+"
	}
	c.push("AUTHENTICATE " + text)
}

// takeFeatures takes a line of RPL_ISUPPORT: where the server has a mode for bots, the bot takes it
// (https://ircv3.net/specs/extensions/bot-mode).
func (c *conn) takeFeatures(m message) {
	for _, feature := range m.params {
		if mode, is := strings.CutPrefix(feature, "BOT="); is && len(mode) == 1 && isName(mode) {
			c.push("MODE " + c.nick + " +" + mode)
		}
	}
}

// take takes a line; mu is held. It does not wait.
func (c *conn) take(m message) {
	switch {
	case m.command == "PING":
		c.push("PONG :" + line(m.last()))
	case c.begin != nil:
		c.takeBeginning(m)
	default:
		c.hear(m, time.Now())
	}
}
