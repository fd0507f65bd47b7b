package irc

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// stolen are the words of servers that end a connection because another client takes the nick.
var stolen = regexp.MustCompile(`(?i)collision|ghost|regain|recover|nickname in use`)

// hear takes a line of a server that has let the bot in; mu is held.
func (c *conn) hear(m message, now time.Time) {
	mine := fold(m.nick()) == fold(c.nick)
	why := c.words.Clean(m.last())
	switch m.command {
	case "PRIVMSG":
		if mine {
			c.confirm(m.param(0), "")
			return
		}
		if e, is := c.inbound(m, now); is {
			select {
			case c.in <- e:
			default:
				c.log.Warn(ops.LogIRCLost, "session", e.message.Session, "waiting", maxIn)
			}
		}
	case "PONG":
		c.confirm("", m.last())
	case "005":
		c.takeFeatures(m)
	case "JOIN":
		if r := c.rooms.find(m.param(0)); mine && r != nil {
			_, c.host, _ = strings.Cut(m.source, "!")
			r.enter(now)
		}
	case "PART":
		if mine {
			c.left(m.param(0), now, "the bot was made to leave it")
		}
	case "KICK":
		if fold(m.param(1)) == fold(c.nick) {
			c.left(m.param(0), now, fmt.Sprintf("%s put the bot out of it (%s)", c.words.Clean(m.nick()), why))
		}
	case "NICK":
		if mine {
			c.over(&adapter.ConflictError{Why: fmt.Sprintf("the server took the nick %s from the bot", c.nick)})
		}
	case "KILL":
		if fold(m.param(0)) == fold(c.nick) {
			c.over(c.ended(why))
		}
	case "ERROR":
		c.over(c.ended(why))
	default:
		c.hearNumber(m, now, why)
	}
}

// ended is why the server ends the connection.
func (c *conn) ended(why string) error {
	if stolen.MatchString(why) {
		return &adapter.ConflictError{Why: "another client took the nick: " + why}
	}
	return c.failed("read", fmt.Errorf("the server closes the connection: %s", why))
}

// over ends the connection, for this reason unless the bot does.
func (c *conn) over(err error) {
	if !c.leaves.Load() {
		c.Fail(err)
	}
	c.end()
}

// left notes that the bot is not in a channel.
func (c *conn) left(channel string, now time.Time, why string) {
	if r := c.rooms.find(channel); r != nil {
		c.log.Warn(ops.LogIRCLeft, "channel", r.name, "why", why)
		r.leave(now, c.p.limits, why)
	}
}

// Numbers of servers (https://modern.ircdocs.horse/#numerics). Those of cannotJoin are about a channel, and those of cannotSend about a
// message that was not passed on.
var (
	cannotJoin = map[string]bool{"403": true, "405": true, "437": true, "471": true, "473": true, "474": true, "475": true, "476": true, "477": true, "489": true}
	cannotSend = map[string]bool{
		"401": true, "402": true, "403": true, "404": true, "407": true, "408": true, "413": true, "414": true, "477": true, "486": true, "489": true, "492": true,
		"494": true, "531": true, "716": true,
	}
)

// tooFast is the number for a message that came too soon, and tooFastWait the time after it where the server names none.
const (
	tooFast     = "439"
	tooFastWait = 30 * time.Second
)

// seconds is a time in the text of a server.
var seconds = regexp.MustCompile(`\b(\d{1,4}) ?s`)

// hearNumber takes an answer of the server.
func (c *conn) hearNumber(m message, now time.Time, why string) {
	about := m.param(1)
	if r := c.rooms.find(about); r != nil && r.joined.IsZero() && cannotJoin[m.command] {
		c.left(about, now, why)
	}
	w := c.waits
	if w == nil || fold(about) != fold(w.target) {
		return
	}
	switch {
	case m.command == tooFast:
		wait := tooFastWait
		if found := seconds.FindStringSubmatch(m.last()); found != nil {
			n, _ := strconv.Atoi(found[1]) // it has digits alone
			wait = time.Duration(n) * time.Second
		}
		w.settle(&adapter.RateLimitError{RetryAfter: wait})
	case cannotSend[m.command]:
		w.settle(&adapter.RefusedError{Why: fmt.Sprintf("%s (%s)", why, m.command)})
	}
}

// confirmation is what the bot waits for after some lines: as many of them again, or the answer to a PING.
type confirmation struct {
	target, token string
	echoes        int
	done          chan error // of one
	settled       bool
}

// settle ends the wait.
func (w *confirmation) settle(err error) {
	if !w.settled {
		w.settled = true
		w.done <- err
	}
}

// confirm notes a line that came back, or the answer to a PING; mu is held.
func (c *conn) confirm(target, token string) {
	w := c.waits
	switch {
	case w == nil:
	case w.token != "" && w.token == token:
		w.settle(nil)
	case w.token == "" && target != "" && fold(target) == fold(w.target):
		if w.echoes--; w.echoes <= 0 {
			w.settle(nil)
		}
	}
}

var errUnconfirmed = errors.New("the server did not confirm the message in time")
