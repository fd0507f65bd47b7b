package fence

// Environment is the kind of place in which a command runs. A command that cannot work there, such as sudo in a sandbox, is not
// asked about for that: it fails by itself and harms nothing.
type Environment string

// The environments. Local and Partial are no wall against what a command does there; Sandbox and Container are.
const (
	Local     Environment = "local"     // a process of the gateway's user
	Partial   Environment = "partial"   // local, with the kernel's rules on files and TCP
	Sandbox   Environment = "sandbox"   // namespaces of its own: the host's files are read-only or absent
	Container Environment = "container" // Docker or Podman
)

// Environments lists the kinds.
func Environments() []Environment { return []Environment{Local, Partial, Sandbox, Container} }

// class sorts what can be found about a command.
type class int

const (
	plain      class = iota // it does something, or may do something, that is not known as harmless
	opaque                  // it cannot be read
	host                    // it ruins or betrays something that only the host has
	everywhere              // it ruins something that every environment shares with the host, or the config forbids it
)

// verdicts says what a finding of a class means. Without a finding a command is allowed everywhere.
var verdicts = map[Environment][4]Verdict{
	//         plain    opaque   host     everywhere
	Local:     {Ask, Ask, Never, Never},
	Partial:   {Ask, Ask, Never, Never},
	Sandbox:   {Allowed, Allowed, Allowed, Never},
	Container: {Allowed, Allowed, Allowed, Never},
}

// verdict is that of a finding; an unknown environment is judged as Local.
func (e Environment) verdict(c class) Verdict {
	table, known := verdicts[e]
	if !known {
		table = verdicts[Local]
	}
	return table[c]
}
