package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/smtp"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/text"
)

// wait is how long the platform is left alone after a temporary refusal that says that there was too much: SMTP names no time.
const wait = time.Minute

// lastWord bounds the last command to a server, whose answer nothing waits for.
const lastWord = time.Second

// submission is a connection for the submission of mails (RFC 6409).
type submission struct {
	*smtp.Client
	conn net.Conn
}

// close ends the connection.
func (s submission) close() {
	_ = s.conn.SetWriteDeadline(time.Now().Add(lastWord)) // it is over either way
	_ = s.Text.PrintfLine("QUIT")
	_ = s.conn.Close()
}

// submitting runs f with a connection that has logged in, which ends with ctx. The error is f's, or says that nothing was sent.
func (p *Platform) submitting(ctx context.Context, f func(s submission) error) error {
	begin, cancel := context.WithTimeout(ctx, p.call)
	defer cancel()
	conn, host, secure, err := p.dialed(begin, p.o.SMTP, "465")
	if err != nil {
		return unsent(p.failed("connect", p.o.SMTP, ended(begin, err)))
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	early := context.AfterFunc(begin, func() { _ = conn.Close() })
	s, err := p.greet(conn, host, secure)
	if !early() || err != nil {
		_ = conn.Close() // the login says what is wrong
		return p.smtpError("log in", ended(begin, errors.Join(err, begin.Err())))
	}
	defer s.close()
	return f(s)
}

// greet reads the greeting and logs in.
func (p *Platform) greet(conn net.Conn, host string, secure security) (s submission, err error) {
	s.conn = conn
	if s.Client, err = smtp.NewClient(conn, host); err != nil {
		return s, err
	}
	if secure == upgraded {
		if has, _ := s.Extension("STARTTLS"); !has {
			return s, errors.New("the server offers no encryption (STARTTLS)")
		}
		if err := s.StartTLS(p.tlsFor(host)); err != nil {
			return s, err
		}
	}
	has, ways := s.Extension("AUTH")
	if !has && secure == local {
		return s, nil // a server of this machine may know the sender by that
	}
	var auth smtp.Auth = &loginAuth{p.o.User, p.o.Password}
	if fields := strings.Fields(strings.ToUpper(ways)); !has || len(fields) == 0 {
		return s, errors.New("the server offers no login")
	} else if fields[0] == "PLAIN" || !slices.Contains(fields, "LOGIN") {
		auth = smtp.PlainAuth("", p.o.User, p.o.Password, host)
	}
	if err := s.Auth(auth); err != nil {
		if refused, is := errors.AsType[*textproto.Error](err); is && refused.Code/100 == 5 {
			return s, &refusedLogin{refused}
		}
		return s, err
	}
	return s, nil
}

// refusedLogin is a user or a password that the SMTP server refuses.
type refusedLogin struct{ answer *textproto.Error }

func (r *refusedLogin) Error() string { return r.answer.Error() }

// tooMuch are the temporary refusals that say that there was too much (RFC 3463, 3.8: policy; RFC 5321, 4.2.1: the service is closed).
var tooMuch = text.Lazily(`(?i)\b4\.7\.\d|rate|too many|too much|limit|quota`)

// smtpError is the error of a step before the server had the whole mail: it certainly did not arrive.
func (p *Platform) smtpError(step string, err error) error {
	if err == nil {
		return nil
	}
	failed := p.failed(step, p.o.SMTP, err)
	if login, is := errors.AsType[*refusedLogin](err); is {
		return unsent(p.credentials("the SMTP server refuses the login: %s", p.failed(step, p.o.SMTP, login)))
	}
	answer, is := errors.AsType[*textproto.Error](err)
	switch {
	case !is:
		return unsent(failed)
	case answer.Code/100 == 5:
		return &adapter.RefusedError{Why: failed.Error()}
	case answer.Code == 421 || tooMuch().MatchString(answer.Msg):
		return &adapter.RateLimitError{RetryAfter: wait}
	}
	return unsent(failed)
}

// submit sends one mail.
func (p *Platform) submit(ctx context.Context, from string, to []string, text []byte) error {
	return p.submitting(ctx, func(s submission) error {
		if err := s.Mail(from); err != nil {
			return p.smtpError("name the sender", ended(ctx, err))
		}
		for _, r := range to {
			if err := s.Rcpt(r); err != nil {
				return p.smtpError("name the recipient", ended(ctx, err))
			}
		}
		w, err := s.Data()
		if err != nil {
			return p.smtpError("begin the mail", ended(ctx, err))
		}
		if _, err := w.Write(text); err != nil { // its end is not written yet
			return p.smtpError("write the mail", ended(ctx, err))
		}
		err = w.Close()
		if _, answered := errors.AsType[*textproto.Error](err); answered {
			return p.smtpError("end the mail", err)
		}
		if err != nil {
			return p.failed("end the mail", p.o.SMTP, ended(ctx, err)) // perhaps it arrived
		}
		return nil
	})
}

// loginAuth is the login of servers that have no other (draft-murchison-sasl-login).
type loginAuth struct{ user, password string }

func (a *loginAuth) Start(*smtp.ServerInfo) (string, []byte, error) { return "LOGIN", nil, nil }

func (a *loginAuth) Next(question []byte, more bool) ([]byte, error) {
	switch {
	case !more:
		return nil, nil
	case strings.HasPrefix(strings.ToLower(string(question)), "user"):
		return []byte(a.user), nil
	case strings.HasPrefix(strings.ToLower(string(question)), "pass"):
		return []byte(a.password), nil
	}
	return nil, fmt.Errorf("the server asked for more than a user and a password: %w", io.ErrUnexpectedEOF)
}
