package feishu

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
)

// Numbers of the long connection (ws/const.go of the official client).
const (
	busy        = 1
	authFailed  = 514
	tooManyOpen = 1000040350
	// leastPing keeps a peer from asking for pings without a pause.
	leastPing = 5 * time.Second
)

// Connect implements adapter.Platform. When it returns without an error, Feishu has answered a ping on the long connection.
//
// The errors are of adapter's types: a *CredentialsError that names SecretSource for an app that Feishu does not know, a
// *ConflictError where the app has as many connections as Feishu allows, a *RateLimitError. Others are worth a retry.
func (p *Platform) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	api, err := p.open()
	if err != nil {
		return nil, err
	}
	me, err := api.me(ctx)
	if err != nil {
		api.close()
		return nil, err
	}
	at, err := api.endpoint(ctx)
	if err != nil {
		api.close()
		return nil, err
	}
	c := newConn(p, api, r, me)
	if err = c.dial(ctx, at); err == nil {
		c.start()
		select {
		case <-c.joined:
			return c, nil
		case <-c.Done():
			err = c.Err()
		case <-ctx.Done():
			err = fmt.Errorf("wait for the first frame: %w", ctx.Err())
		}
		_ = c.Disconnect(context.WithoutCancel(ctx)) // no call lasts once it has begun, so that it takes no time
		return nil, err
	}
	c.EndCalls()
	c.EndTasks()
	api.close()
	return nil, err
}

// me is the id of the bot.
func (a *api) me(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.p.call)
	defer cancel()
	r := request{verb: http.MethodGet, path: "/open-apis/bot/v3/info"}
	text, err := a.send(ctx, r)
	if err != nil {
		return "", err
	}
	var found struct {
		Bot struct {
			ID string `json:"open_id"`
		} `json:"bot"`
	}
	if err := json.Unmarshal(text, &found); err != nil || !isID(found.Bot.ID, userID) {
		return "", a.failed(r, errors.New("the app has no bot: switch on the ability \"Bot\" in the developer console and publish a version"))
	}
	return found.Bot.ID, nil
}

// endpoint is where the long connection is, and what Feishu asks of it.
type endpoint struct {
	url     string
	service int32
	// ping is the time between two pings.
	ping time.Duration
}

// clientConfig is what Feishu asks of a client, in seconds. The Supervisor has its own times for what else is in it.
type clientConfig struct {
	PingInterval int `json:"PingInterval"`
}

// interval is the time between two pings; 0: Feishu says none.
func (c clientConfig) interval(most time.Duration) time.Duration {
	if c.PingInterval <= 0 {
		return 0
	}
	return max(min(time.Duration(min(c.PingInterval, bot.MaxRetryAfter))*time.Second, most), leastPing)
}

// endpoint asks where the long connection is.
func (a *api) endpoint(ctx context.Context) (at endpoint, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.p.call)
	defer cancel()
	r := request{verb: http.MethodPost, path: "/callback/ws/endpoint", in: map[string]string{"AppID": a.p.o.AppID, "AppSecret": a.p.o.Secret}}
	text, err := a.once(ctx, r, "")
	if failed, is := errors.AsType[*callError](err); is && failed.code != 0 {
		return at, a.p.unconnected(failed.code, failed.Why)
	}
	if err != nil {
		return at, err
	}
	var found struct {
		URL    string       `json:"URL"`
		Config clientConfig `json:"ClientConfig"`
	}
	if err := json.Unmarshal(text, &result{Data: &found}); err != nil {
		return at, a.failed(r, fmt.Errorf("read the answer: %w", err))
	}
	u, err := url.Parse(found.URL)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return at, errors.New("no address of the long connection was given")
	}
	if err := a.p.checkScheme(u.Scheme); err != nil {
		return at, err
	}
	service, err := strconv.ParseInt(cmp.Or(u.Query().Get("service_id"), "0"), 10, 32)
	if err != nil {
		return at, errors.New("the address of the long connection has no service")
	}
	return endpoint{found.URL, int32(service), cmp.Or(found.Config.interval(a.p.ping), a.p.ping)}, nil
}

// checkScheme refuses an address in the clear where the API is not.
func (p *Platform) checkScheme(of string) error {
	if of == "ws" && strings.HasPrefix(p.o.BaseURL, "https:") {
		return errors.New("the address of the long connection that Feishu gave is not encrypted")
	}
	return nil
}

// unconnected is why Feishu gives no long connection.
func (p *Platform) unconnected(code int, why string) error {
	switch code {
	case tooManyOpen:
		return &adapter.ConflictError{Why: "the app has as many long connections as Feishu allows: other programs use it"}
	case busy:
		return errors.New("no long connection was given, because Feishu is busy")
	case authFailed, http.StatusForbidden:
		return p.credentials("Feishu refuses the long connection of this app: %s", why)
	}
	return fmt.Errorf("no long connection was given: %s", why)
}

// unwelcome is why Feishu refused the handshake.
func (a *api) unwelcome(resp *http.Response, err error) error {
	if resp == nil {
		return fmt.Errorf("connect to the long connection: %s", a.Why(err))
	}
	why := a.Clean(cmp.Or(resp.Header.Get("Handshake-Msg"), "HTTP "+resp.Status))
	code, bad := strconv.Atoi(resp.Header.Get("Handshake-Status"))
	if bad != nil { // a proxy, for instance
		return fmt.Errorf("connect to the long connection: %s", why)
	}
	if resp.Header.Get("Handshake-Autherrcode") == strconv.Itoa(tooManyOpen) {
		code = tooManyOpen
	}
	return a.p.unconnected(code, fmt.Sprintf("error %d, %s", code, why))
}
