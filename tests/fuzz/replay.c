// Runs a fuzz target over files instead of letting libFuzzer drive it: replay PATH…, where a folder
// stands for the files in it. A crash ends the program; so does a path that yields no file, since
// a corpus that is not found must not look like one that passes.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *path)
{
    perror(path);
    exit(1);
}

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail(path);
    long size = ftell(file);
    if (size < 0)
        fail(path);
    rewind(file);
    // Exactly `size` bytes, so that ASan sees the first one read behind them.
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
        fail(path);
    fclose(file);
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
}

static size_t replay_path(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        replay_file(path);
        return 1;
    }
    size_t nfiles = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        size_t bytes = strlen(path) + strlen(entry->d_name) + 2;
        char *name = malloc(bytes);
        if (!name)
            fail(path);
        snprintf(name, bytes, "%s/%s", path, entry->d_name);
        replay_file(name);
        free(name);
        nfiles++;
    }
    closedir(folder);
    return nfiles;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (replay_path(argv[i]) == 0) {
            fprintf(stderr, "%s: no file to replay\n", argv[i]);
            return 1;
        }
    }
    return argc > 1 ? 0 : 1;
}
