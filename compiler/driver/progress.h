// A line on a terminal that says what is being done, for whoever waits over a second. Nothing is
// shown where standard error is no terminal. Only driver/ includes this.
#ifndef SLUICE_DRIVER_PROGRESS_H
#define SLUICE_DRIVER_PROGRESS_H

// What is done from now on: "generating code". The text is borrowed until the next call; NULL: it
// is done, and the line goes. For one thread.
void progress(const char *doing);

#endif
