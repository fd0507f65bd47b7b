package botapitest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
)

// Command is a command in the menu of the bot.
type Command struct {
	Name  string `json:"command"`
	About string `json:"description"`
}

var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// Menu is the bot's menu.
func (s *Server) Menu() []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Command{}, s.menu...)
}

func (s *Server) setMenu(w http.ResponseWriter, args map[string]string) {
	var menu []Command
	err := json.Unmarshal([]byte(args["commands"]), &menu)
	if err != nil || len(menu) > 100 || slices.ContainsFunc(menu, func(c Command) bool {
		return !commandName.MatchString(c.Name) || c.About == "" || len([]rune(c.About)) > 256
	}) {
		fail(w, Fault{Code: 400, Description: "Bad Request: BOT_COMMAND_INVALID"})
		return
	}
	s.mu.Lock()
	s.menu = menu
	s.change()
	s.mu.Unlock()
	answer(w, true)
}

// KeepFromGroups says whether getMe tells that the bot may not be added to groups.
func (s *Server) KeepFromGroups(keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alone = keep
}

func (s *Server) isAlone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alone
}
