package irctest

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// answer writes a numbered answer.
func (c *client) answer(number, rest string) {
	nick := c.nick
	if nick == "" {
		nick = "*"
	}
	c.tell(nil, ":irc.example "+number+" "+nick+" "+rest)
}

// do does one command and reports whether the connection goes on.
func (c *client) do(line string) bool {
	head, text, trailing := strings.Cut(line, " :")
	words := strings.Fields(head)
	if len(words) == 0 {
		return true
	}
	if trailing {
		words = append(words, text)
	}
	words = append(words, "", "", "") // those that are missing
	switch strings.ToUpper(words[0]) {
	case "CAP":
		c.capabilities(strings.ToUpper(words[1]), words[2])
	case "AUTHENTICATE":
		c.authenticate(words[1])
	case "PASS":
		c.password = words[1]
	case "NICK":
		c.s.mu.Lock()
		taken := c.s.faults.NickTaken
		for other := range c.s.conns {
			taken = taken || other != c && strings.EqualFold(other.nick, words[1])
		}
		if !taken {
			c.nick = words[1]
		}
		c.s.mu.Unlock()
		if taken {
			c.answer("433", words[1]+" :Nickname is already in use")
		}
	case "USER":
		c.user = words[1]
	case "PING":
		if !c.s.wrong().Unconfirmed {
			c.tell(nil, ":irc.example PONG irc.example :"+words[1])
		}
	case "JOIN":
		for channel := range strings.SplitSeq(words[1], ",") {
			c.join(channel)
		}
	case "PRIVMSG":
		c.pass(words[1], words[2])
	case "QUIT":
		c.s.mu.Lock()
		c.in, c.nick = false, ""
		delete(c.s.conns, c)
		c.s.mu.Unlock()
		c.tell(nil, "ERROR :Closing Link: Quit")
		return false
	case "PONG", "MODE", "WHO", "USERHOST":
	default:
		c.answer("421", words[0]+" :Unknown command")
	}
	return c.welcome()
}

// wrong is what is wrong now.
func (s *Server) wrong() Faults { s.mu.Lock(); defer s.mu.Unlock(); return s.faults }

// capabilities is CAP (https://ircv3.net/specs/extensions/capability-negotiation). The list comes in two lines.
func (c *client) capabilities(command, names string) {
	switch {
	case c.s.o.Deaf:
	case c.s.o.Caps == nil:
		c.answer("421", "CAP :Unknown command")
	case command == "LS":
		c.negotiates = true
		half := len(c.s.o.Caps) / 2
		c.tell(nil, ":irc.example CAP * LS * :"+strings.Join(c.s.o.Caps[:half], " "))
		c.tell(nil, ":irc.example CAP * LS :"+strings.Join(c.s.o.Caps[half:], " "))
	case command == "REQ":
		c.negotiates = true
		for name := range strings.FieldsSeq(names) {
			if !slices.ContainsFunc(c.s.o.Caps, func(has string) bool { return has == name || strings.HasPrefix(has, name+"=") }) {
				c.tell(nil, ":irc.example CAP * NAK :"+names)
				return
			}
		}
		c.s.mu.Lock()
		for name := range strings.FieldsSeq(names) {
			c.caps[name] = true
		}
		c.s.mu.Unlock()
		c.tell(nil, ":irc.example CAP * ACK :"+names)
	case command == "END":
		c.negotiates = false
	}
}

// authenticate is the login with PLAIN (https://ircv3.net/specs/extensions/sasl-3.1).
func (c *client) authenticate(text string) {
	if text == "PLAIN" {
		c.plains = true
		c.tell(nil, "AUTHENTICATE +")
		return
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	parts := strings.Split(string(raw), "\x00")
	if err != nil || !c.plains || len(parts) != 3 || parts[1] == "" || parts[2] != c.s.o.Password || c.s.wrong().BadPassword {
		c.answer("904", ":SASL authentication failed")
		return
	}
	c.authenticated = true
	c.answer("900", fmt.Sprintf("*!*@* %s :You are now logged in as %s", parts[1], parts[1]))
	c.answer("903", ":SASL authentication successful")
}

// welcome lets a client in that has said all, and reports whether the connection goes on.
func (c *client) welcome() bool {
	if c.in || c.negotiates || c.nick == "" || c.user == "" {
		return true
	}
	if o := c.s.o; o.Password != "" && !c.authenticated && c.password != o.Password || c.s.wrong().BadPassword {
		c.answer("464", ":Password incorrect")
		c.tell(nil, "ERROR :Closing Link: Bad password")
		return false
	}
	c.tell(nil, "PING :cookie")
	c.answer("001", fmt.Sprintf(":Welcome to the network %s!%s@gateway.example", c.nick, c.user))
	c.answer("002", ":Your host is irc.example")
	c.answer("003", ":This server was created today")
	c.answer("004", "irc.example irctest-1 iBo nt")
	c.answer("005", "CHANTYPES=# CASEMAPPING=ascii NICKLEN=30 PREFIX=(o)@ BOT=B NETWORK=Example :are supported by this server")
	c.answer("375", ":- irc.example Message of the day -")
	c.answer("372", ":- hello")
	c.answer("376", ":End of /MOTD command.")
	c.s.mu.Lock()
	c.in = true
	queue := c.s.queue
	c.s.queue = nil
	c.s.mu.Unlock()
	for _, line := range queue {
		c.tell(nil, line)
	}
	return true
}

// source is the client as the server names it.
func (c *client) source() string { return c.nick + "!" + c.user + "@gateway.example" }

// join is JOIN of one channel.
func (c *client) join(channel string) {
	if c.s.wrong().NoJoin {
		c.answer("473", channel+" :Cannot join channel (+i)")
		return
	}
	c.s.mu.Lock()
	c.channels[strings.ToLower(channel)] = true
	c.s.mu.Unlock()
	c.tell(nil, ":"+c.source()+" JOIN "+channel)
	c.answer("353", "= "+channel+" :@op "+c.nick)
	c.answer("366", channel+" :End of /NAMES list.")
}

// pass is PRIVMSG.
func (c *client) pass(to, text string) {
	f := c.s.wrong()
	c.s.mu.Lock()
	outside := strings.HasPrefix(to, "#") && !c.channels[strings.ToLower(to)]
	c.s.mu.Unlock()
	switch {
	case f.Flood:
		c.answer("439", to+" :Target change too fast. Please wait 7 seconds.")
		return
	case f.NoSuch:
		c.answer("401", to+" :No such nick/channel")
		return
	case outside, f.NoCodes && strings.ContainsAny(text, "\x02\x03\x1d\x1e"):
		c.answer("404", to+" :Cannot send to channel")
		return
	}
	c.s.mu.Lock()
	c.s.sent = append(c.s.sent, Sent{to, text})
	c.s.ids++
	tags := map[string]string{"msgid": fmt.Sprintf("m%d", c.s.ids)}
	echoes := c.caps["echo-message"] && !f.Unconfirmed
	c.s.mu.Unlock()
	if echoes {
		c.tell(tags, ":"+c.source()+" PRIVMSG "+to+" :"+text)
	}
}
