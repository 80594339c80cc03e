// Package claim lets any number of processes on any number of hosts share the work on one output folder. A process
// claims the folder of a run before it makes the run, and a process that dies loses its claim to the next one that
// asks.
//
// The files. Claim number e of a folder, its epoch, is the hidden file .claim-e in the folder. Its text names the
// process and has a random id, which no other claim ever has. The claim with the largest epoch holds the folder. Its
// holder writes a file as .epoch-e.id.name and publishes it by renaming it to name.
//
// Claiming. A process that finds no claim, or finds the largest one dead, makes a file of its own, .claim-id, locks it,
// writes the text of the claim, and links it to .claim-e for the next epoch e. Only one process can make that link.
// Then it lists the folder again. If a larger epoch is there, or a smaller one that it had not seen before, the folder
// has changed hands since it looked: it removes its claim and looks again. Otherwise it removes all files of older
// holders, and has the folder. Where the file system has no links, the process creates .claim-e as a new file.
//
// Dying. A holder rewrites its claim every Beat with another number. A process that sees the very same bytes for
// Expiry, by its own monotonic clock, takes the holder for dead. Times of files, clocks of other hosts, host names and
// process numbers decide nothing. A free lock of the claim shows at once that the holder is dead, if the claim was made
// on this machine since its last start, and on this very mount; the boot id and the device number in the claim's text
// tell that. The lock belongs to the open file, and no child process inherits it. Where a link and its file are two
// files, as on sshfs, claims name no locks, and only Expiry shows who is dead.
//
// Why nobody else publishes once a process has the folder. Publish first lists the folder and finds no larger epoch.
// Then it reads its own claim, which is still there. Then it renames. Take another claim that was made before that
// listing. Either the listing has its epoch, or its maker has come and gone and has removed the publisher's claim, and
// the publisher finds that. Now take a claim that was made after the listing, so after the file to be published was
// written. Its maker lists the folder after that, finds the file, and removes it before Try returns. If the rename
// comes later, it fails, because its source is gone, and names of sources never come back. If the rename comes earlier,
// the file was published before Try returned. So a process may be stopped at any point, for any time.
//
// What the file system must promise: link, rename, create and remove happen at one moment for all hosts; a listing has
// the names that were there all the time; a file that is opened shows what was written before another host closed it;
// and what a host sees of a folder, its names and which files they are, is not older than its own last change in that
// folder and what it has seen of the folder before. Local file systems and NFS keep these promises. NFS may report an
// error for an operation that was made, if the request was sent twice. Therefore a claim counts as made if its name has
// our id, a rename if the new name is the old file, and a removal if the file is not there.
//
// What may happen between any two operations, and what comes of it:
//   - Two processes link the same epoch. One link is made; the other process looks again and finds the holder.
//   - A process looks, is stopped, and links after others have had the folder. It finds a larger epoch, or one that it
//     has not seen, and removes its claim. If all others are done, the claim is good although its epoch is not 1: a
//     process that has claimed a folder must look whether there is anything left to do.
//   - A process dies before the link. Its .claim-id stays until the next claim. If it dies after the link, its claim is
//     dead like any other. If it dies while it removes the files of others, the next holder removes the rest.
//   - A process finds its own file gone before it has linked it, because a new holder has removed it. It looks again.
//     After the link nobody needs that name.
//   - A holder is stopped for longer than Expiry. It loses the claim, and finds out by its next heartbeat, Check or
//     Publish. It removes only files with its own id.
//   - A holder cannot write heartbeats. After Expiry it takes its claim for lost, as all others do.
//
// What cannot be helped costs work, and never a result:
//   - Epochs begin anew after a Release. A process may read an old claim and be stopped before it removes it, until
//     others have released the folder and another has claimed it with the same epoch. Then it removes the new claim,
//     and the new holder loses the folder. In the same way, a process that takes over a claim which was released at
//     that moment may make the next holder take its claim for lost, although the process then steps back itself.
//   - All processes are stopped together for longer than Expiry, as a batch system may do. The first to go on may take
//     over the claim of a process that lives.
//   - Two virtual machines go on from one snapshot, so that boot id and device number are the same, on a file system
//     whose locks hold on one machine only. Each takes the other for dead.
//   - There are no links, and a process dies between creating .claim-e and writing it. It leaves an empty claim of an
//     unknown process, which holds the folder until Expiry.
package claim
