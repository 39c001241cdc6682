#!/bin/sh
# Parameters of published architectures: as their paper, their library or their checkpoint's size has them, or counted
# by hand from the formulas (a Funnel layer of width D has 13 D^2 + 17 D). A row is the count, its source, the model.
. "$(dirname "$0")/lib.sh"
cat >rows <<'END'
115611648 by-hand        funnel(B4-4-4H768)
130973184 by-hand        funnel(B4-4-4H768D2)
115611648 by-hand        funnel(B6-3x2-3x2H768)
130973184 by-hand        funnel(B6-3x2-3x2H768D2)
161696256 by-hand        funnel(B6-6-6H768)
177057792 by-hand        funnel(B6-6-6H768D2)
358830080 by-hand        funnel(B8-8-8H1024)
386127872 by-hand        funnel(B8-8-8H1024D2)
440723456 by-hand        funnel(B10-10-10H1024)
468021248 by-hand        funnel(B10-10-10H1024D2)
462MB     huggingface    funnel(B4-4-4H768)
462MB     huggingface    funnel(B6-3x2-3x2H768)
647MB     huggingface    funnel(B6-6-6H768)
708MB     huggingface    funnel(B6-6-6H768D2)
1.44GB    huggingface    funnel(B8-8-8H1024)
1.54GB    huggingface    funnel(B8-8-8H1024D2)
1.76GB    huggingface    funnel(B10-10-10H1024)
1.87GB    huggingface    funnel(B10-10-10H1024D2)
5867328   timm           gmlp_vision(G30H128F768)
19422656  timm           gmlp_vision(G30H256F1536)
73075392  timm           gmlp_vision(G30H512F3072)
130072528 by-hand        gmlp_masked_lm(G48H512F3072)
108790492 by-hand        gmlp_masked_lm(G36H512F3072T64, qkv_bias: true)
108783580 by-hand        gmlp_masked_lm(G36H512F3072T64)
365272992 by-hand        gmlp_masked_lm(G96H768F3072)
315626424 by-hand        gmlp_masked_lm(G72H768F3072T128, qkv_bias: true)
315598776 by-hand        gmlp_masked_lm(G72H768F3072T128)
940580720 by-hand        gmlp_masked_lm(G144H1024F4096)
130M      gmlp-paper     gmlp_masked_lm(G48H512F3072)
109M      gmlp-paper     gmlp_masked_lm(G36H512F3072T64, qkv_bias: true)
365M      gmlp-paper     gmlp_masked_lm(G96H768F3072)
316M      gmlp-paper     gmlp_masked_lm(G72H768F3072T128, qkv_bias: true)
941M      gmlp-paper     gmlp_masked_lm(G144H1024F4096)
102M      gmlp-paper     gmlp_masked_lm(G36H512F3072, length: 128)
142.6M    by-hand        gmlp_masked_lm(G48H512F3072, mix: dense_mix)
118.2M    by-hand        gmlp_masked_lm(G36H512F3072T64, mix: dense_mix)
390.3M    by-hand        gmlp_masked_lm(G96H768F3072, mix: dense_mix)
334.4M    by-hand        gmlp_masked_lm(G72H768F3072T128, mix: dense_mix)
978.2M    by-hand        gmlp_masked_lm(G144H1024F4096, mix: dense_mix)
19104624  timm           mixer(M8H512, patch: 32)
18528264  timm           mixer(M8H512, patch: 16)
60293428  timm           mixer(M12H768, patch: 32)
59880472  timm           mixer(M12H768, patch: 16)
206939264 timm           mixer(M24H1024, patch: 32)
208196168 timm           mixer(M24H1024, patch: 16)
5717416   timm           vit(V12H192)
22050664  timm           vit(V12H384)
86567656  timm           vit(V12H768)
304326632 timm           vit(V24H1024)
109482240 huggingface    bert(L12H768)
335141888 huggingface    bert(L24H1024)
END
rounded() { # COUNT AS: as AS is printed
    case $2 in
        *GB) awk "BEGIN { printf \"%.2fGB\", $1 * 4 / 1e9 }" ;;
        *MB) awk "BEGIN { printf \"%.0fMB\", $1 * 4 / 1e6 }" ;;
        *.*M) awk "BEGIN { printf \"%.1fM\", $1 / 1e6 }" ;;
        *M) awk "BEGIN { printf \"%.0fM\", $1 / 1e6 }" ;;
        *) echo "$1" ;;
    esac
}
while read -r want source model; do
    echo "model m = $model" >m.slu
    status 0 params m.slu
    total=$(sed -n 's/^total .* tensors  *//p' ../stdout.txt | tr -d ,)
    got=$(rounded "$total" "$want")
    [ "$got" = "$want" ] || fail "$model: $got parameters, $source says $want"
done <rows
finish
