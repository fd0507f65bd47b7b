package setup

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/telegram"
	"gatewaytui/core/config"
	"gatewaytui/core/environment/sandbox"
	"gatewaytui/core/model"
	"gatewaytui/core/platforms"
	"gatewaytui/core/process"
)

// Checks try answers. Each ends with its ctx, and within the bound that it names.
type Checks interface {
	// Models lists the models of an OpenAI-compatible endpoint, within 10 s.
	Models(ctx context.Context, base, key string) ([]string, error)
	// Ask makes a call to a model, and returns its answer and how long it took; within 90 s, for a model that must be loaded first.
	Ask(ctx context.Context, m config.Model, key string) (answer string, took time.Duration, err error)
	// Bot returns the name of the bot with this token, within 15 s.
	Bot(ctx context.Context, base, token string) (name string, err error)
	// AwaitSender waits for a direct message to the bot and returns who sent it.
	AwaitSender(ctx context.Context, base, token, text string) (telegram.Sender, error)
	// Examine asks the chat platform of this name about its settings, as doctor does, within 15 s. secrets are its credentials by
	// config.SecretPlace.Key.
	Examine(ctx context.Context, a config.Adapters, name string, secrets map[string]config.Credential) ([]adapter.Finding, error)
	// Sandbox returns why commands cannot run in a sandbox, within 10 s; nil: they can.
	Sandbox(ctx context.Context) error
	// Listen returns why no program can listen on an address now; nil: one can.
	Listen(address string) error
}

// Real are the checks over the network and this machine.
type Real struct{}

// Bounds of the checks.
const (
	modelsBound  = 10 * time.Second
	askBound     = 90 * time.Second
	botBound     = 15 * time.Second
	sandboxBound = 10 * time.Second
)

// Models implements Checks.
func (Real) Models(ctx context.Context, base, key string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, modelsBound)
	defer cancel()
	return model.List(ctx, model.OpenAIOptions{BaseURL: base, APIKey: key, Timeout: modelsBound})
}

// Ask implements Checks. One try is enough: a person waits.
func (Real) Ask(ctx context.Context, m config.Model, key string) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	endpoint := model.NewOpenAI
	if m.Provider == config.Anthropic {
		endpoint = model.NewAnthropic
	}
	p, err := endpoint(model.OpenAIOptions{BaseURL: m.BaseURL, Model: m.Name, APIKey: key, Timeout: askBound})
	if err != nil {
		return "", 0, err
	}
	c := p.New()
	defer c.Close()
	began := time.Now()
	r, err := c.Complete(ctx, model.Request{
		Session: "setup", Fallback: true,
		Messages: []model.Message{{Role: model.RoleUser, Content: "Answer with one word: ready"}},
	}, nil)
	if err != nil {
		return "", 0, err
	}
	answer := strings.TrimSpace(r.Message.Content)
	if answer == "" {
		answer = "(an answer without text)"
	}
	return answer, time.Since(began), nil
}

// Bot implements Checks.
func (Real) Bot(ctx context.Context, base, token string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, botBound)
	defer cancel()
	return bot(base, token).Identify(ctx)
}

// AwaitSender implements Checks.
func (Real) AwaitSender(ctx context.Context, base, token, text string) (telegram.Sender, error) {
	return bot(base, token).AwaitSender(ctx, text)
}

// Examine implements Checks.
func (Real) Examine(ctx context.Context, a config.Adapters, name string, secrets map[string]config.Credential) ([]adapter.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, botBound)
	defer cancel()
	for _, m := range platforms.Of(a, config.Credentials{Bots: map[string]map[string]config.Credential{name: secrets}}) {
		if m.Name != name {
			continue
		}
		if m.Err != nil {
			return nil, m.Err
		}
		if p, is := m.New(platforms.Host{Log: slog.New(slog.DiscardHandler)}).(adapter.Examiner); is {
			return p.Examine(ctx)
		}
	}
	return nil, nil
}

func bot(base, token string) *telegram.Platform {
	return telegram.New(telegram.Options{Token: token, TokenSource: "the answer", BaseURL: base})
}

// Sandbox implements Checks.
func (Real) Sandbox(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sandboxBound)
	defer cancel()
	runner, err := process.OpenRunner(ctx)
	if err != nil {
		return err
	}
	defer runner.Close(ctx)
	dir, err := os.MkdirTemp("", "gatewaytui-setup-")
	if err != nil {
		return errors.New("no folder can be made to try it in")
	}
	defer os.RemoveAll(dir)
	_, err = sandbox.New(sandbox.Options{Spawn: runner.Spawn, Temporary: dir}).Probe(ctx)
	return err
}

// Listen implements Checks.
func (Real) Listen(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}
