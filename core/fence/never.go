package fence

import (
	"path"
	"strings"
)

// grave are the programs that a list of words is searched for, if nothing is known about the program in front.
var grave = set("rm dd shred wipefs blkdiscard chmod chown find mv sudo env bash sh dash zsh ksh busybox")

// systemFolders are those without which the machine does not work, or which hold what people made.
var systemFolders = set("/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run /sbin /srv /sys /usr /var /usr/bin /usr/lib /usr/lib64 /usr/local /usr/sbin /usr/share /var/lib /var/log /Users /System /Library /Applications")

// ruin says which of the rules that nobody lifts a command breaks. Names of options and files count as far as they are known.
func ruin(s *scope, name string, args []field) []found {
	switch {
	case name == "rm" && has(args, "rR", "recursive"):
		return s.roots(operands(args), "it deletes ")
	case name == "mv":
		if all := operands(args); len(all) > 1 {
			return s.roots(all[:len(all)-1], "it moves away ")
		}
	case name == "chmod" || name == "chown" || name == "chgrp":
		if all := operands(args); has(args, "R", "recursive") && len(all) > 1 {
			return milder(s.roots(all[1:], "it changes who may use all of "))
		}
	case name == "find":
		return s.emptied(args)
	case name == "dd":
		for _, f := range args {
			if target, is := strings.CutPrefix(f.text, "of="); is {
				return s.disks([]field{{text: target, trust: f.trust}}, "it writes to ")
			}
		}
	case strings.HasPrefix(name, "mkfs") || destroyers[name]:
		return s.disks(operands(args), name+" overwrites ")
	case name == "tee" || name == "truncate":
		return s.disks(operands(args), "it writes to ")
	case name == "cp" || name == "install":
		if all := operands(args); len(all) > 1 {
			return s.disks(all[len(all)-1:], "it writes to ")
		}
	case name == "shutdown" || name == "reboot" || name == "halt" || name == "poweroff":
		if !has(args, "c", "help", "version", "show") {
			return []found{{host, name + " stops the machine"}}
		}
	case name == "init" || name == "telinit":
		if all := operands(args); len(all) == 1 && strings.Contains("016sS", all[0].text) && all[0].text != "" {
			return []found{{host, name + " " + all[0].text + " stops the machine"}}
		}
	case name == "systemctl" || name == "loginctl":
		for _, f := range operands(args) {
			if strings.Contains(" poweroff reboot halt kexec soft-reboot suspend hibernate hybrid-sleep emergency rescue ", " "+f.text+" ") {
				return []found{{host, name + " " + f.text + " stops the machine"}}
			}
			break
		}
	case name == "kill":
		return everybody(args)
	}
	return nil
}

// destroyers overwrite the disk that they are given.
var destroyers = set("mkswap wipefs blkdiscard shred fdisk sfdisk cfdisk gdisk sgdisk parted partprobe mke2fs hdparm badblocks newfs")

// milder is for what concerns the host alone.
func milder(all []found) []found {
	for i := range all {
		all[i].class = host
	}
	return all
}

// has reports whether one of the short options, or a long one or an abbreviation of it, is among args.
func has(args []field, short string, long ...string) bool {
	for _, f := range args {
		switch {
		case f.text == "--":
			return false
		case strings.HasPrefix(f.text, "--"):
			option, _, _ := strings.Cut(f.text[2:], "=")
			for _, l := range long {
				if option != "" && strings.HasPrefix(l, option) {
					return true
				}
			}
		case strings.HasPrefix(f.text, "-") && strings.ContainsAny(f.text[1:], short):
			return true
		}
	}
	return false
}

// operands are the words that are not options.
func operands(args []field) (all []field) {
	over := false
	for _, f := range args {
		switch {
		case !over && f.text == "--":
			over = true
		case !over && len(f.text) > 1 && f.text[0] == '-':
		default:
			all = append(all, f)
		}
	}
	return all
}

// roots says which of the words are folders that everything depends on.
func (s *scope) roots(words []field, what string) []found {
	for _, f := range words {
		if f.trust == unknown {
			continue
		}
		for _, p := range s.paths(f.text) {
			all := p
			for f.glob && p != "/" && strings.Trim(path.Base(p), "*?.[]!^") == "" {
				p = path.Dir(p)
			}
			_, home := s.fence.inHome(p)
			if f.glob {
				for folder := range systemFolders {
					if aims(p, folder) {
						p = folder
					}
				}
			}
			switch {
			case systemFolders[p]:
				return []found{{everywhere, what + all + ", a folder of the system"}}
			case home && path.Dir(p) == "/home" || p == s.fence.Home || path.Dir(p) == "/Users":
				return []found{{everywhere, what + all + ", a home folder"}}
			case p != s.fence.Work && under(s.fence.Work, p):
				return []found{{everywhere, what + all + ", which holds the work folder"}}
			}
			for _, own := range s.fence.Own {
				if own != "" && under(own, p) && !under(p, s.fence.Work) {
					return []found{{host, what + all + ", which holds files of the gateway"}}
				}
			}
		}
	}
	return nil
}

// disks says which of the words are disks.
func (s *scope) disks(words []field, what string) []found {
	for _, f := range words {
		for _, p := range s.paths(f.text) {
			if kind := device(p); kind != "" {
				return []found{{host, what + p + ", which is " + kind}}
			}
		}
	}
	return nil
}

// choosing are the tests of find that leave something out.
var choosing = set("-name -iname -path -ipath -regex -iregex -mtime -mmin -size -newer -empty -user -perm -maxdepth")

// startsOf are the folders that find looks through.
func startsOf(args []field) (all []field) {
	for _, f := range args {
		switch {
		case strings.HasPrefix(f.text, "-") && len(f.text) > 2 || f.text == "(" || f.text == "!":
			return all
		case !strings.HasPrefix(f.text, "-"):
			all = append(all, f)
		}
	}
	return all
}

// emptied says whether find deletes all of a folder that everything depends on.
func (s *scope) emptied(args []field) []found {
	deletes, tests := false, false
	for i, f := range args {
		if strings.HasPrefix(f.text, "-fprint") || f.text == "-fls" {
			if all := s.disks(args[i+1:min(i+2, len(args))], "it writes to "); len(all) > 0 {
				return all
			}
		}
		deletes, tests = deletes || f.text == "-delete", tests || choosing[f.text]
	}
	if !deletes || tests {
		return nil
	}
	return s.roots(startsOf(args), "it deletes all below ")
}

// everybody says whether kill ends all processes, or the first one.
func everybody(args []field) []found {
	for i, f := range args {
		switch {
		case f.text == "-1" && (i > 0 || len(args) == 1) && (i == 0 || args[i-1].text != "-s"):
			if len(args) == 1 || i > 0 {
				return []found{{host, "kill -1 ends every process of the user"}}
			}
		case f.text == "1" && (i == 0 || strings.HasPrefix(args[i-1].text, "-") || i == len(args)-1):
			if i > 0 && (args[i-1].text == "-s" || args[i-1].text == "-n") {
				continue
			}
			return []found{{host, "kill 1 ends the first process of the machine"}}
		}
	}
	return nil
}
