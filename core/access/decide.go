package access

import "gatewaytui/core/ops"

// Action is something that a person or a program asks for.
type Action string

// The actions besides chat commands.
const (
	// Talk is a message that a turn works on, Tools that this turn may call tools.
	Talk  Action = "talk"
	Tools Action = "tools"
	// Approve is the answer to an approval, LetIn a change of who may speak, Restart a stop or a restart of the gateway.
	Approve Action = "approve"
	LetIn   Action = "let in"
	Restart Action = "restart"
	// ReadOthers is to read the conversations of other people.
	ReadOthers Action = "read others"
	// RunAsRoot is to run commands in the environment local of a gateway of root.
	RunAsRoot Action = "run as root"
)

// Command is the use of a chat command.
func Command(name string) Action { return Action("/" + name) }

// Platforms that are none of a chat.
const (
	// Control is the platform of sessions that the control socket, the console and the command line make.
	Control = "cli"
	// API is the platform of programs.
	API = "api"
)

// least is the role that an action needs. What is not listed needs a member: every other chat command.
var least = map[Action]ops.Role{
	Talk: ops.RoleGuest, Tools: ops.RoleMember,
	Command("help"): ops.RoleGuest, Command("whoami"): ops.RoleGuest, Command("new"): ops.RoleGuest, Command("stop"): ops.RoleGuest, Command("status"): ops.RoleGuest,
	Command("people"): ops.RoleOwner,
	Approve:           ops.RoleOwner, LetIn: ops.RoleOwner, Restart: ops.RoleOwner, ReadOthers: ops.RoleOwner, RunAsRoot: ops.RoleOwner,
}

// byPeople are the actions that a program never does through a chat request, with any role: a person decides on them.
var byPeople = map[Action]bool{Approve: true, LetIn: true, Restart: true, Command("people"): true}

// Decide reports whether a role may do an action on a platform. Callers of the control socket, the console and the command line are
// owners; adapters.api.role is the role of programs.
func Decide(role ops.Role, do Action, platform string) bool {
	needs := least[do]
	if needs == "" {
		needs = ops.RoleMember
	}
	return role.AtLeast(needs) && (platform != API || !byPeople[do])
}
