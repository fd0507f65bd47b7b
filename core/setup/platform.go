package setup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/adapter/telegram"
	"gatewaytui/core/config"
)

// ownerBound is how long the person's message to the bot is waited for.
const ownerBound = 3 * time.Minute

var telegramTable = []string{"adapters", "telegram"}

// askPlatform asks where people write, and for a bot that it knows who its owner is.
func (s *setup) askPlatform(ctx context.Context) error {
	bots := s.now.Config.Adapters.Bots()
	s.freePort()
	choices := []string{"on this machine: the console, the command line, and an OpenAI-compatible API at " + shown(s.listen())}
	for _, b := range bots {
		choices = append(choices, "on this machine, and in "+b.Title)
	}
	standard := 1 + slices.IndexFunc(bots, func(b config.Bot) bool { return b.Enabled })
	choice, err := s.choose(ctx, choices, standard)
	switch {
	case err != nil:
		return err
	case choice == 0:
		for _, b := range bots {
			if b.Enabled {
				s.set(false, "adapters", b.Name, "enabled")
			}
		}
		return nil
	case bots[choice-1].Name != "telegram":
		return s.askOther(ctx, bots[choice-1])
	}
	t := s.now.Config.Adapters.Telegram
	s.say("  A bot is made by writing /newbot to @BotFather in Telegram, which gives its token.")
	for {
		done, err := s.askBot(ctx, t)
		if done || err != nil {
			return err
		}
	}
}

// listen is where the API will listen.
func (s *setup) listen() string {
	for _, c := range s.agreed {
		if slices.Equal(c.Path, []string{"adapters", "api", "listen"}) {
			return c.Value.(string)
		}
	}
	return s.now.Config.Adapters.API.Listen
}

// freePort moves the API to another port where another program has its address.
func (s *setup) freePort() {
	api := s.now.Config.Adapters.API
	if s.Running || !api.Enabled || s.Checks.Listen(api.Listen) == nil {
		return
	}
	host, port, _ := strings.Cut(api.Listen, ":")
	first, err := strconv.Atoi(port)
	if err != nil || s.Getenv("GATEWAYTUI_ADAPTERS_API_LISTEN") != "" {
		return
	}
	for n := first + 1; n < first+20 && n < 1<<16; n++ {
		if at := fmt.Sprintf("%s:%d", host, n); s.Checks.Listen(at) == nil {
			s.say("  Another program listens on %s: the API gets %s.", shown(api.Listen), shown(at))
			s.set(at, "adapters", "api", "listen")
			return
		}
	}
}

// askBot asks for the token of a bot, tries it, and finds its owner. It is not done where the person wants to answer again.
func (s *setup) askBot(ctx context.Context, t config.Telegram) (done bool, err error) {
	had := s.held(t.TokenEnv, t.TokenFile)
	token, err := s.askSecret(ctx, "token of the bot", "telegram.token", had, false)
	if err != nil {
		return false, err
	}
	if token.value != "" {
		s.result.Bot, err = s.Checks.Bot(ctx, t.BaseURL, token.value)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			s.say("  The bot cannot be used: %s", shown(err.Error()))
			if again, err := s.again(ctx); again || err != nil {
				return false, err
			}
		default:
			s.say("  It is the bot @%s.", shown(s.result.Bot))
		}
	}
	s.set(true, "adapters", "telegram", "enabled")
	s.keep(token, had, telegramTable, "token_env", "token_file")
	return true, s.askOwner(ctx, t, token)
}

// askOwner finds out who the owner is, if there is none yet: by a message to the bot, else by an id that is typed.
func (s *setup) askOwner(ctx context.Context, t config.Telegram, token secret) error {
	owners := s.now.Config.Access.Owners
	if slices.ContainsFunc(owners, func(o string) bool { return strings.HasPrefix(o, "telegram:") }) {
		s.say("  Its owner is %s, as before.", shown(strings.Join(owners, ", ")))
		return nil
	}
	who, err := s.meet(ctx, t, token)
	if who == 0 || err != nil {
		return err
	}
	id := strconv.FormatInt(who, 10)
	s.set(append(slices.Clone(owners), "telegram:"+id), "access", "owners")
	if !slices.Contains(t.Allow, who) {
		s.set(append(slices.Clone(t.Allow), who), "adapters", "telegram", "allow")
	}
	if t.Home == "" {
		s.set(id, "adapters", "telegram", "home")
	}
	return nil
}

// meet waits for a message to the bot with a number that only this screen shows, or for a typed id, and returns the user's id; 0: none.
func (s *setup) meet(ctx context.Context, t config.Telegram, token secret) (int64, error) {
	if token.value == "" || s.result.Bot == "" {
		return s.typedOwner(ctx, "your user id in Telegram, a number (enter: later, with gatewaytui people add)")
	}
	n, err := rand.Int(rand.Reader, big.NewInt(9000))
	if err != nil {
		return 0, err
	}
	text := fmt.Sprintf("hello %d", n.Int64()+1000)
	s.say("  Who are you there? Write this to @%s now: %s", shown(s.result.Bot), text)

	waits, stop := context.WithTimeout(ctx, ownerBound)
	defer stop()
	answered, drop := context.WithCancel(ctx)
	defer drop()
	met := make(chan struct{})
	var from telegram.Sender
	var failed error
	go func() { // it is awaited below: a typed line and the end of ctx end it
		defer close(met)
		if from, failed = s.Checks.AwaitSender(waits, t.BaseURL, token.value, text); failed == nil {
			drop()
		} else if waits.Err() == nil || errors.Is(waits.Err(), context.DeadlineExceeded) {
			s.say("")
			s.say("  It cannot be waited for: %s", shown(failed.Error()))
			s.Talk.Prompt("  your user id: ")
		}
	}()
	who, err := s.typedOwner(answered, "or type your user id, a number (enter: later, with gatewaytui people add)")
	stop()
	<-met
	if failed == nil && ctx.Err() == nil {
		s.say("")
		s.say("  %s (id %d) is the owner.", shown(from.Name), from.ID)
		return from.ID, nil
	}
	return who, err
}

// typedOwner reads a user's id; 0: none was typed.
func (s *setup) typedOwner(ctx context.Context, what string) (int64, error) {
	for {
		line, err := s.ask(ctx, what, "")
		if line == "" || err != nil {
			return 0, err
		}
		if id, err := strconv.ParseInt(line, 10, 64); err == nil && id > 0 {
			return id, nil
		}
		s.say("  An id is a number, such as 4711; @userinfobot tells it.")
	}
}
