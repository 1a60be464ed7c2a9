// Image classification from a folder that has a folder of pictures for each class, as ImageNet's. For ImageNet and a
// ResNet of torchvision it is the same program with `arch = "resnet50"`, `weights = "resnet50.pth"` in place of
// `model`, and with `data = "imagefolder:val,resize=256,crop=224,mean=0.485+0.456+0.406,std=0.229+0.224+0.225"`.
#include <iostream>

#include <troupe/troupe.hpp>

int main(int argc, char** argv) {
  const std::string data_dir = argc > 1 ? argv[1] : "data";
  troupe::eval_options options;
  options.model = data_dir + "/cifar10/resnet20.pt";
  options.data = "imagefolder:" + data_dir + "/cifar10/pictures";
  options.run.data_workers = 2;  // threads that decode
  options.metrics = {"accuracy", "top3", "per_class_accuracy"};

  const auto evaluation = troupe::get(troupe::evaluator::create(options, {}));
  std::cout << troupe::result_table(troupe::get(evaluation->run()), 100);
}
