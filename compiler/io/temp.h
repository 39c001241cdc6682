// Temporary names: files and folders that a command makes for itself, and that go away with it when
// a signal ends it. For io/ alone.
#ifndef SLUICE_IO_TEMP_H
#define SLUICE_IO_TEMP_H

// From here on SIGINT, SIGTERM and SIGHUP, unless they are ignored, remove the file or the empty
// folder `path` before they end the process. What is noted last goes first. Names beyond the first
// few, or too long for a path, are not noted.
void temp_note(const char *path);
// It is gone, or has its final name.
void temp_forget(const char *path);

#endif
